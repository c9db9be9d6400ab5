import { createHash } from 'node:crypto';
import path from 'node:path';
import type { Trust } from './job-spec.ts';

/** The folders of a runner's `--dir`, shared by all processes on a host. */
export class DirLayout {
  readonly root: string;

  constructor(root: string) {
    this.root = path.resolve(root);
  }

  get git(): string {
    return path.join(this.root, 'git');
  }
  get cache(): string {
    return path.join(this.root, 'cache');
  }
  get images(): string {
    return path.join(this.root, 'images');
  }
  get tools(): string {
    return path.join(this.root, 'tools');
  }
  /** HOMEs of the agents' servers, one a runner process; they stay. */
  get agent(): string {
    return path.join(this.root, 'agent');
  }
  get jobs(): string {
    return path.join(this.root, 'jobs');
  }
  get trash(): string {
    return path.join(this.root, 'trash');
  }
  /** FIFOs of the steps that run, a folder a process. */
  get fifos(): string {
    return path.join(this.root, 'fifos');
  }

  get locks(): string {
    return path.join(this.root, 'locks');
  }
  get format(): string {
    return path.join(this.root, 'format.json');
  }

  /** Run numbers are a server's own, and several servers' runs may share one directory. */
  jobTree(run: number, attempt: number, server: string): string {
    return path.join(this.jobs, `${run}-${attempt}.${server}`);
  }
  namespace(name: string): string {
    return path.join(this.cache, name);
  }
  savedCheckout(name: string): string {
    return path.join(this.git, `${name}.git`);
  }
}

/** Up to 40 readable characters and 16 hex digits of the key, so that no two keys meet in one name. */
function nameOf(readable: string, key: readonly string[]): string {
  const digest = createHash('sha256').update(key.join('\0')).digest('hex').slice(0, 16);
  const slug = readable
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40);
  return slug ? `${slug}-${digest}` : digest;
}

export interface NamespaceKey {
  readonly repository: string;
  readonly trust: Trust;
  /** Image name, or `host`. */
  readonly image: string;
}

export function namespaceName(key: NamespaceKey): string {
  return nameOf(key.repository, ['cache', key.repository, key.trust, key.image]);
}

/** The clone URL is part of the key: a repository registered anew elsewhere is another one. */
export function savedCheckoutName(repository: string, trust: Trust, url: string): string {
  return nameOf(repository, ['git', repository, trust, url]);
}

export interface ImageKey {
  readonly engine: string;
  readonly repository: string;
  readonly trust: Trust;
  /** Path of the file in the commit. */
  readonly file: string;
  /** Git's id of the folder that is the context: of every name, mode and byte in it. */
  readonly tree: string;
}

export function imageName(key: ImageKey): string {
  return nameOf(key.repository, ['image', key.engine, key.repository, key.trust, key.file, key.tree]);
}

/** Of the caches that a build's own steps keep from one build to the next. */
export function buildCacheScope(repository: string, trust: Trust): string {
  return nameOf(repository, ['build-cache', repository, trust]);
}

/** Of what is known of pulls of an image, which is the same one for every repository. */
export function pullName(engine: string, image: string): string {
  return nameOf(image, ['pull', engine, image]);
}

/** Guard names, by what they guard. */
export const guardName = {
  namespace: (name: string) => `cache-${name}`,
  /** Shared by all who read its objects, fetchers too; exclusive for who removes or repacks any. */
  savedCheckout: (name: string) => `git-${name}`,
  /**
   * Exclusive for a fetch, beside the shared guard of the saved checkout: a fetch only adds objects, so
   * it must not wait for the hours-long jobs that read others.
   */
  fetch: (name: string) => `fetch-${name}`,
  /** Shared by the jobs that use it, from before they look for it; exclusive for who removes it. */
  image: (name: string) => `image-${name}`,
  /** Exclusive for who builds it, beside the shared guard of the image. */
  build: (name: string) => `build-${name}`,
  pull: (name: string) => `pull-${name}`,
  tools: () => 'tools',
  /** Exclusive for the runner process whose agents' server has it. */
  agentHome: (seat: number) => `agent-${seat}`,
  server: () => 'server',
};
