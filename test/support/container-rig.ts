import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { ContainerSettings, JobContainer } from '../../src/shared/engine/job-container.ts';
import { IMAGE_LABEL } from '../../src/shared/engine/owned.ts';
import type { WorkerTask } from '../../src/shared/worker-messages.ts';
import type { TestEngine } from './engine-rig.ts';
import { removeBuiltImages, removeImages } from './image-rig.ts';
import { type RigEnd, type RigRun, type RigSpec, WorkerRig } from './worker-rig.ts';

export interface ContainerOptions extends Partial<Omit<ContainerSettings, 'limits'>> {
  readonly image?: string;
  readonly limits?: Partial<ContainerSettings['limits']>;
  readonly task?: Partial<WorkerTask>;
}

/** The worker rig, its runs in containers of the host's engine. */
export class ContainerRig {
  readonly rig: WorkerRig;
  readonly #engine: () => TestEngine;
  /** What its containers carry. */
  readonly label: string;
  /** What its built images carry as their directory. */
  readonly directory: string;

  constructor(engine: () => TestEngine, options: { threads?: number } = {}) {
    this.rig = new WorkerRig({ ...options, cgroup: false });
    this.#engine = engine;
    this.directory = path.basename(this.rig.dir);
    mkdirSync(path.join(this.rig.dir, 'images'));
    this.label = `vole.test=${path.basename(this.rig.dir)}`;
  }

  start(spec: RigSpec, options: ContainerOptions = {}): RigRun & { container: string } {
    const { image, limits, task, ...settings } = options;
    const engine = this.#engine();
    const [label = '', value = ''] = this.label.split('=');
    const container: JobContainer = {
      engine: engine.facts,
      name: `vole-test-${randomBytes(6).toString('hex')}`,
      labels: { [label]: value },
      image: spec.imageFile ? { file: spec.imageFile } : { name: image ?? engine.image },
      settings: {
        limits: { memoryBytes: null, cpus: null, pids: null, ...limits },
        user: null,
        pull: 'never',
        serviceTimeoutMs: 60_000,
        ...settings,
      },
      imageRecords: path.join(this.rig.dir, 'images'),
      imageLabels: { [IMAGE_LABEL.directory]: this.directory },
    };
    const run = this.rig.start(spec, { container, ...task });
    return Object.assign(run, { container: container.name });
  }

  async run(spec: RigSpec, options: ContainerOptions = {}): Promise<RigRun & RigEnd & { container: string }> {
    const run = this.start(spec, options);
    return Object.assign(run, await run.ended);
  }

  /** Names of its containers that are there. */
  async left(): Promise<string[]> {
    return await this.#engine().containers(this.label);
  }

  async close(): Promise<void> {
    try {
      const left = await this.left();
      if (left.length > 0) await this.#engine().call('rm', '--force', ...left);
      await removeBuiltImages(this.#engine(), this.directory);
      await removeImages(this.#engine(), this.label);
    } catch (error) {
      if (!String(error).includes('no engine')) throw error;
    } finally {
      await this.rig.close();
    }
  }
}
