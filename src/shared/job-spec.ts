import { z } from 'zod';
import { agentSpecSchema } from './agent/spec.ts';
import { MOST_SERVICES, SERVICE_NAME } from './service-rules.ts';

/**
 * What a runner is told to do for one run, as it stands in the `job` message. A spec that does not
 * parse by this schema makes the runner refuse (see `docs/runner.md`), so fields are only ever added
 * with a default, and a new step `kind` needs a new protocol version.
 */
const envSchema = z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string());

export const stepSpecSchema = z.object({
  kind: z.literal('run'),
  name: z.string().min(1),
  run: z.string().min(1),
  /** `sh` is `sh -e`; `bash` is `bash --noprofile --norc -eo pipefail`, as GitHub Actions has it. */
  shell: z.enum(['sh', 'bash']).default('sh'),
  /** Relative to the checkout; may not leave it. */
  workingDirectory: z.string().default('.'),
  env: envSchema.default({}),
  if: z.enum(['success', 'failure', 'always']).default('success'),
  continueOnError: z.boolean().default(false),
  timeoutMs: z.number().int().positive().nullable().default(null),
});
export type StepSpec = z.infer<typeof stepSpecSchema>;

export const serviceSpecSchema = z.object({
  /** A host name: others in the job's network reach it by this. */
  name: z.string().regex(SERVICE_NAME),
  image: z.string().min(1),
  env: envSchema.default({}),
  /** Arguments in place of the image's own; its entry point stays. */
  command: z.array(z.string()).nullable().default(null),
  /** For its container's `/bin/sh`; it is ready once this exits with 0. */
  healthCheck: z.string().min(1).nullable().default(null),
  /** TCP ports that it must listen on to be ready; null: any that its image exposes. */
  readyPorts: z.array(z.number().int().min(1).max(65_535)).nullable().default(null),
});
export type ServiceSpec = z.infer<typeof serviceSpecSchema>;

export const TRUSTS = ['trusted', 'untrusted'] as const;
export type Trust = (typeof TRUSTS)[number];

/** When a workflow may wish an image to be pulled; an operator has `never` beside it. */
export const IMAGE_PULL_WISHES = ['missing', 'always'] as const;

export const jobSpecSchema = z
  .object({
    run: z.number().int().positive(),
    attempt: z.number().int().positive(),
    pipeline: z.number().int().positive(),
    /** `owner/name` as registered on the server. */
    repository: z.string().min(1),
    trust: z.enum(TRUSTS),
    /** The job's name in the workflow, with its matrix values: `test (20)`. */
    job: z.string().min(1),
    event: z.string().default('manual'),
    /** Null where the job says `checkout: false`. */
    source: z
      .object({
        /** From the registered repository, never from an event. */
        url: z.string().min(1),
        /** Full ref name for people and `VOLE_REF`; the commit decides. */
        ref: z.string(),
        sha: z.string().regex(/^[0-9a-f]{40}([0-9a-f]{24})?$/),
        submodules: z.boolean().default(false),
      })
      .nullable(),
    /** Of the container; null beside a null `imageFile` is the host. */
    image: z.string().nullable().default(null),
    /** Containers beside the job's own, which has to have an image. */
    services: z.array(serviceSpecSchema).max(MOST_SERVICES).default([]),
    /** In place of `image`: path within the checkout of the file that it is built from. */
    imageFile: z.string().nullable().default(null),
    /** Null is the runner's own setting. */
    imagePull: z.enum(IMAGE_PULL_WISHES).nullable().default(null),
    env: envSchema.default({}),
    /** Given to trusted runs alone; set in the environment and masked in the log. */
    secrets: envSchema.default({}),
    /** None only where there is an agent. */
    steps: z.array(stepSpecSchema).max(500),
    /** What a coding agent is to do in place of steps. */
    agent: agentSpecSchema.nullable().default(null),
    artifacts: z
      .array(
        z.object({
          name: z.string().regex(/^[A-Za-z0-9._-]{1,100}$/),
          paths: z.array(z.string().min(1)).min(1),
        }),
      )
      .default([]),
    timeoutMs: z.number().int().positive(),
    cpus: z.number().positive().default(1),
    memoryBytes: z.number().int().nonnegative().default(0),
  })
  .refine(({ steps, agent }) => steps.length > 0 !== (agent !== null), {
    error: 'a job has either steps or an agent',
  });
export type JobSpec = z.infer<typeof jobSpecSchema>;

/** What is known of it before it is leased. */
export type StoredSpec = Omit<JobSpec, 'run' | 'attempt' | 'pipeline' | 'secrets'>;

/** Whether the run executes in a container. */
export function inContainer({ image, imageFile }: Pick<JobSpec, 'image' | 'imageFile'>): boolean {
  return image !== null || imageFile !== null;
}
