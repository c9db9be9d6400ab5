import path from 'node:path';
import { type NamespaceKey, savedCheckoutName } from '../../shared/dir-layout.ts';
import type { JobContainer } from '../../shared/engine/job-container.ts';
import { engineName, imageLabelsOf, labelsOf } from '../../shared/engine/owned.ts';
import type { EngineFacts } from '../../shared/engine/types.ts';
import { inContainer, type JobSpec } from '../../shared/job-spec.ts';
import type { OwnerIdentity } from '../../shared/owner-record.ts';
import { closeDescriptors } from '../../shared/platform/descriptors.ts';
import { bootId, pidNamespace, processStat } from '../../shared/platform/processes.ts';
import type { Namespaces } from '../cache/namespaces.ts';
import type { SavedCheckouts } from '../cache/saved-checkouts.ts';
import type { RunnerDir } from '../dir/open-dir.ts';
import type { BuiltImages } from '../engine/built-images.ts';
import type { HelperImages } from '../engine/helper-images.ts';
import type { RunnerOptions } from '../options.ts';
import type { JobCgroups } from './job-cgroups.ts';
import type { HeldTree, JobTrees } from './job-trees.ts';
import type { JobRoom } from './run-in-flight.ts';

export interface RoomParts {
  readonly dir: RunnerDir;
  readonly trees: JobTrees;
  readonly namespaces: Namespaces;
  readonly saved: SavedCheckouts;
  /** Id of the server whose run numbers these are. */
  readonly server: string;
  readonly options: Pick<RunnerOptions, 'noCache' | 'home' | 'hello' | 'container' | 'keepUnreported'> & {
    endpoint: { account: string };
  };
  readonly cgroups: JobCgroups;
  readonly engine: EngineFacts | null;
  readonly images: HelperImages;
  readonly built: Pick<BuiltImages, 'trimSoon'>;
}

/** Makes what a run holds on this host: namespace, tree with its owner record, cgroup. */
export function roomMaker(parts: RoomParts) {
  return async (spec: JobSpec, signal: AbortSignal): Promise<JobRoom> => {
    const { dir, trees, namespaces, saved, options } = parts;
    const key: NamespaceKey = {
      repository: spec.repository,
      trust: spec.trust,
      image: imageOfNamespace(spec),
    };
    const namespace = await namespaces.hold(key, signal);
    // The engine makes a container's own.
    const cgroup = inContainer(spec) ? null : parts.cgroups.take();
    let tree: HeldTree | null = null;
    /** Whether nothing of the job can still be at its tree. */
    let reusable = false;
    let threadDied = false;
    try {
      const identity = identityOf(parts, spec, namespace.name, cgroup);
      const made = trees.make(identity);
      tree = made;
      if (identity.git) saved.used(identity.git);
      return {
        spool: made.spool,
        marker: identity.marker,
        cgroup,
        owner: tree.owner,
        container: containerOf(parts, spec, identity),
        paths: {
          tree: tree.path,
          src: path.join(tree.path, 'src'),
          tmp: path.join(tree.path, 'tmp'),
          spool: path.join(tree.path, 'log'),
          artifacts: path.join(tree.path, 'artifacts'),
          cache: namespace.path,
          git: identity.git && dir.layout.savedCheckout(identity.git),
          tools: dir.layout.tools,
          home: options.home,
        },
        closeLeft: () => {
          const inTree = (file: string): boolean => file.startsWith(`${made.path}/`);
          closeDescriptors(inTree, [made.spool.fd, made.owner.fd]);
          threadDied = true;
        },
        releaseCache: ({ joined }) => {
          reusable = !threadDied;
          parts.cgroups.give(cgroup, joined);
          namespace.release({ remove: options.noCache });
          if (spec.imageFile !== null) parts.built.trimSoon();
        },
        leave: ({ reported }) => {
          // The next start on the directory reports it then: the log is there, and the record says whose it is.
          if (!reported && options.keepUnreported) made.keep();
          else made.dispose({ reusable });
        },
      };
    } catch (error) {
      tree?.dispose({ reusable: false });
      parts.cgroups.give(cgroup, false);
      namespace.release({ remove: options.noCache });
      throw error;
    }
  };
}

/** A file by its path: what a job has cached outlives an edit of it. No image's name begins so. */
function imageOfNamespace({ image, imageFile }: JobSpec): string {
  return imageFile === null ? (image ?? 'host') : `./${imageFile}`;
}

function containerOf(
  { dir, engine, options, images }: RoomParts,
  spec: JobSpec,
  identity: OwnerIdentity,
): JobContainer | null {
  const { image: name, imageFile: file, trust } = spec;
  const image = file === null ? name && { name } : { file };
  if (!image || engine === null) return null;
  if ('name' in image) images.used(image.name, trust, Date.now());
  const { container: settings } = options;
  // An operator's word stands; `missing` is what a workflow may make more of.
  const pull = settings.pull === 'missing' && spec.imagePull === 'always' ? 'always' : settings.pull;
  return {
    engine,
    name: engineName(identity),
    labels: labelsOf(identity),
    image,
    settings: { ...settings, pull },
    imageRecords: dir.layout.images,
    imageLabels: imageLabelsOf(identity, spec),
  };
}

/** A process keeps both for life. */
const ownStart = once(() => processStat(process.pid)?.start ?? '0');
const ownPidNamespace = once(pidNamespace);

function once<T>(read: () => T): () => T {
  let known: { value: T } | null = null;
  return () => (known ??= { value: read() }).value;
}

function identityOf(
  parts: RoomParts,
  spec: JobSpec,
  namespace: string,
  cgroup: string | null,
): OwnerIdentity {
  const { dir, server, options } = parts;
  const name = `${spec.run}-${spec.attempt}.${server}`;
  return {
    version: 1,
    directory: dir.id,
    bootId: bootId(),
    pidNamespace: ownPidNamespace(),
    process: options.hello.process,
    pid: process.pid,
    pidStart: ownStart(),
    run: spec.run,
    attempt: spec.attempt,
    server,
    repository: spec.repository,
    account: options.endpoint.account,
    namespace,
    git: spec.source && savedCheckoutName(spec.repository, spec.trust, spec.source.url),
    cgroup,
    marker: `${dir.id}/${name}`,
    startedAt: Date.now(),
  };
}
