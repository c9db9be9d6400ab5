import { readFileSync } from 'node:fs';
import path from 'node:path';
import { buildCacheScope, guardName, type ImageKey, imageName } from '../../shared/dir-layout.ts';
import { ImageFile } from '../../shared/engine/image-record.ts';
import type { ContainerLimits } from '../../shared/engine/job-container.ts';
import { IMAGE_LABEL, labelArguments } from '../../shared/engine/owned.ts';
import { builtTag } from '../../shared/image-name.ts';
import { type Git, gitOf } from '../checkout/git.ts';
import { type BuildContext, findContext, readDockerfile, writeContext } from './build-context.ts';
import { ClientOutput, clientOptions } from './client-output.ts';
import { baseFault, mountsCaches } from './dockerfile.ts';
import { type ImageParts, type ImageSource, imageFailure, type Provided } from './image-source.ts';
import { inTurn, type Work } from './turn.ts';

/** What stands on the command line of a build. */
export interface BuildFacts {
  readonly dir: string;
  readonly file: string;
  readonly idFile: string;
  readonly tag: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly limits: ContainerLimits;
  /** Where the file mounts caches in its steps: what tells them from another repository's. */
  readonly cacheScope: string | null;
  readonly pull: boolean;
}

const CPU_PERIOD_US = 100_000;

/** For docker with either builder, and for podman. */
export function buildArguments(facts: BuildFacts): string[] {
  const { memoryBytes, cpus } = facts.limits;
  return [
    'build',
    // Of a step that failed as well.
    '--force-rm',
    '--file',
    path.join(facts.dir, facts.file),
    '--iidfile',
    facts.idFile,
    '--tag',
    facts.tag,
    ...labelArguments(facts.labels),
    ...(facts.pull ? ['--pull'] : []),
    ...(facts.cacheScope === null ? [] : ['--build-arg', `BUILDKIT_CACHE_MOUNT_NS=${facts.cacheScope}`]),
    ...(memoryBytes === null ? [] : ['--memory', String(memoryBytes), '--memory-swap', String(memoryBytes)]),
    ...(cpus === null
      ? []
      : ['--cpu-period', String(CPU_PERIOD_US), '--cpu-quota', String(Math.round(cpus * CPU_PERIOD_US))]),
    facts.dir,
  ];
}

/** The image that is built from a file of the commit, for this repository and trust alone. */
export class BuiltImage implements ImageSource {
  readonly words: string;
  readonly #parts: ImageParts;
  readonly #imageFile: string;
  readonly #git: Git;
  #context: BuildContext | null = null;

  constructor(parts: ImageParts, imageFile: string) {
    this.#parts = parts;
    this.#imageFile = imageFile;
    this.words = `the image built from ${imageFile}`;
    this.#git = gitOf(parts.task, parts.main);
  }

  /** Its guard is held from here to the end of the run. */
  async find(): Promise<Provided | null> {
    const { task, main, job, log } = this.#parts;
    const { source } = task.spec;
    if (!source || !task.paths.git) return this.#failed('there is no checkout');
    const context = await findContext(this.#git, task.paths.src, source.sha, this.#imageFile);
    if (typeof context === 'string') return this.#failed(context);
    this.#context = context;
    const name = imageName(this.#key(context));
    const used = await main.guard(guardName.image(name), 'shared');
    if (!used.ok) return { ok: false, failure: { reason: 'host', why: used.why } };
    const file = new ImageFile(job.imageRecords, name);
    const record = file.last;
    if (!record?.image) return null;
    file.used();
    log.say(0, `built by run ${record.run}`);
    return { ok: true, image: record.image };
  }

  async provide(absent: string | null): Promise<Provided | null> {
    const context = this.#context;
    if (!context) return this.#failed('it was not looked for');
    const key = this.#key(context);
    const name = imageName(key);
    return await inTurn(this.#parts, name, {
      guard: guardName.build(name),
      subject: { kind: 'build', ...key },
      what: 'build',
      of: this.#imageFile,
      ready: async (file) => {
        const image = file.last?.image ?? null;
        return image === absent ? null : image;
      },
      work: () => this.#build(name, context),
    });
  }

  #key({ tree }: BuildContext): ImageKey & { engine: 'docker' | 'podman' } {
    const { task, engine } = this.#parts;
    const { repository, trust } = task.spec;
    return { engine: engine.name, repository, trust, file: this.#imageFile, tree };
  }

  #failed(why: string): Provided & { ok: false } {
    return { ok: false, failure: { reason: 'image', why: `image-file ${this.#imageFile}: ${why}` } };
  }

  async #build(name: string, { tree, file }: BuildContext): Promise<Work> {
    const { task, log } = this.#parts;
    const { source } = task.spec;
    if (!source || !task.paths.git) throw new Error('no source');
    log.say(0, `building ${this.#imageFile}`);
    const context = await writeContext(task, source, task.paths.git, this.#git, tree);
    if (typeof context === 'string') return { ...this.#failed(context), output: '', shared: false };
    try {
      const text = readDockerfile(context.dir, file);
      const fault = baseFault(text);
      if (fault !== null) return { ...this.#failed(fault), output: fault, shared: true };
      return await this.#runBuild(name, context.dir, file, mountsCaches(text));
    } finally {
      context.remove();
    }
  }

  async #runBuild(name: string, dir: string, file: string, caches: boolean): Promise<Work> {
    const { task, job, engine } = this.#parts;
    const { repository, trust } = task.spec;
    const idFile = path.join(task.paths.tree, 'image-id');
    const { imageLabels } = job;
    const facts = {
      dir,
      file,
      idFile,
      tag: builtTag(name, imageLabels[IMAGE_LABEL.directory] ?? 'none'),
      labels: { ...imageLabels, [IMAGE_LABEL.key]: name },
      limits: job.settings.limits,
      cacheScope: caches ? buildCacheScope(repository, trust) : null,
      pull: job.settings.pull === 'always',
    };
    const output = new ClientOutput(this.#parts);
    const built = await engine.call(buildArguments(facts), clientOptions(this.#parts, output, 'build'));
    const said = output.end();
    if (built.ok) return { ok: true, image: readFileSync(idFile, 'utf8').trim() };
    return { ok: false, ...imageFailure(`image-file ${this.#imageFile}`, built.failure), output: said };
  }
}
