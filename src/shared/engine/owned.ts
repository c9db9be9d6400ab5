/**
 * Names and labels of what vole makes in an engine. The name is known before the thing is made, so that
 * it stands in the owner record first; the labels are what a sweep goes by.
 */
export interface EngineOwner {
  /** Id of the runner's directory, from its `format.json`. */
  readonly directory: string;
  /** Name of the runner process, as in the seat that it holds while it lives. */
  readonly process: string;
  readonly pid: number;
  /** Field 22 of `/proc/PID/stat`, clock ticks since boot. */
  readonly pidStart: string;
  readonly run: number;
  readonly attempt: number;
  /** Id of the server whose run it is. */
  readonly server: string;
}

export const LABEL = {
  directory: 'vole.directory',
  process: 'vole.process',
  pid: 'vole.pid',
  pidStart: 'vole.pid-start',
  run: 'vole.run',
  attempt: 'vole.attempt',
  server: 'vole.server',
} as const;

/** `vole-<run>-<attempt>.<process>.<directory>`, and `.<part>` for what a job has beside its container. */
export function engineName(owner: EngineOwner, part?: string): string {
  const name = `vole-${owner.run}-${owner.attempt}.${owner.process}.${owner.directory}`;
  return part === undefined ? name : `${name}.${part}`;
}

export function labelsOf(owner: EngineOwner): Record<string, string> {
  return {
    [LABEL.directory]: owner.directory,
    [LABEL.process]: owner.process,
    [LABEL.pid]: String(owner.pid),
    [LABEL.pidStart]: owner.pidStart,
    [LABEL.run]: String(owner.run),
    [LABEL.attempt]: String(owner.attempt),
    [LABEL.server]: owner.server,
  };
}

/** `--label NAME=VALUE` for each. */
export function labelArguments(labels: Readonly<Record<string, string>>): string[] {
  return Object.entries(labels).flatMap(([name, value]) => ['--label', `${name}=${value}`]);
}

/**
 * Labels of images, of names of their own: a container has its image's labels beside those that it is
 * given, and would else be taken for the builder's. Few, since some builders take a step for each; and
 * the key sorts first, so that what such a builder leaves half-labelled has it before the directory.
 */
export const IMAGE_LABEL = {
  /** See `imageName`; given by the worker, who knows it. */
  key: 'vole.image',
  directory: 'vole.image.directory',
  /** For people: who has built it, and for whom. */
  origin: 'vole.image.origin',
} as const;

export function imageLabelsOf(
  { directory, process, run, attempt, server }: EngineOwner,
  { repository, trust }: { repository: string; trust: string },
): Record<string, string> {
  return {
    [IMAGE_LABEL.directory]: directory,
    [IMAGE_LABEL.origin]: `${repository} ${trust} ${run}-${attempt}.${server} ${process}`,
  };
}
