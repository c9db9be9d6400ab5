import { z } from 'zod';
import { AGENT_COMMANDS, type AgentCommand } from '../agent/spec.ts';
import { isImageFile } from '../image-file.ts';
import { isImageName } from '../image-name.ts';
import { IMAGE_PULL_WISHES } from '../job-spec.ts';
import { isServiceName, MOST_SERVICES, SERVICE_NAME, SERVICE_NAME_WORDS } from '../service-rules.ts';
import { parseBytes } from '../units.ts';
import { EVENT_HINTS } from './hints.ts';
import { foundWord } from './words.ts';

/**
 * Every key of the workflow file, once: the check of a file, `docs/workflow.schema.json` and the
 * editor's help come from here. Scalars arrive as the text that was written (see yaml-source.ts);
 * `json` in a meta is what the JSON Schema says instead, where a number or boolean may be written.
 */
const text = z.string();

function flag(description: string) {
  return z
    .enum(['true', 'false'], { error: 'expected true or false' })
    .transform((value) => value === 'true')
    .meta({ description, json: { type: 'boolean' } });
}

function amount(min: number, max: number, description: string) {
  return z
    .string(typed(`a number from ${min} to ${max}`))
    .refine((value) => /^\d{1,9}(\.\d{1,6})?$/.test(value) && Number(value) >= min && Number(value) <= max, {
      error: `expected a number from ${min} to ${max}`,
    })
    .transform(Number)
    .meta({ description, json: { type: 'number', minimum: min, maximum: max } });
}

function wholeNumber(min: number, max: number) {
  return z
    .string(typed(`a whole number from ${min} to ${max}`))
    .refine((value) => /^\d{1,9}$/.test(value) && Number(value) >= min && Number(value) <= max, {
      error: `expected a whole number from ${min} to ${max}`,
    })
    .transform(Number)
    .meta({ json: { type: 'integer', minimum: min, maximum: max } });
}

/** What an editor may find where a text is meant: YAML has numbers and booleans too. */
const scalar = z.string().meta({ json: { type: ['string', 'number', 'boolean'] } });

const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

const env = z
  .record(
    z
      .string()
      .regex(ENV_NAME, { error: 'expected a name of letters, digits and _, not starting with a digit' }),
    scalar.nullable().transform((value) => value ?? ''),
    typed('a map of names and values'),
  )
  .meta({
    description: 'Environment variables; values are taken exactly as written.',
    json: {
      type: 'object',
      propertyNames: { pattern: ENV_NAME.source },
      additionalProperties: { type: ['string', 'number', 'boolean', 'null'] },
    },
  });

const JOB_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,99}$/;
const jobName = text.regex(JOB_NAME, {
  error: 'expected up to 100 letters, digits, _ and -, the first a letter or _',
});
const neededJob = z
  .string(typed('the name of a job'))
  .regex(JOB_NAME, { error: 'expected the name of a job' });

function listOf<T extends z.ZodType>(item: T, description: string) {
  return z
    .union([item, z.array(item)])
    .transform((value) => (Array.isArray(value) ? value : [value]) as z.output<T>[])
    .describe(description);
}

/** Goes into lines of logs and of tables as it is. */
const shown = text.refine((name) => !/\p{Cc}/u.test(name), {
  error: 'expected one line without control characters',
});

const IMAGE_WORDS = 'the name of an image, such as debian:12';
const imageName = z
  .string(typed(IMAGE_WORDS))
  .max(400)
  .refine((name) => name.includes('${{') || isImageName(name), {
    error: `expected ${IMAGE_WORDS}`,
  });

const minutes = (description: string) => amount(0.01, 43_200, description);

const CONDITION_WORDS = 'one of success(), failure() and always(), alone';

export const STEP_KEYS = {
  name: shown
    .min(1, { error: 'expected a name' })
    .max(200)
    .optional()
    .describe('Shown in the log and on the pages.'),
  run: z
    .string(typed('a command'))
    .min(1, { error: 'expected a command' })
    .describe('The script of the step.'),
  shell: z
    .enum(['sh', 'bash'], { error: 'expected sh or bash' })
    .default('sh')
    .describe('`sh` is `sh -e`; `bash` is `bash --noprofile --norc -eo pipefail`.'),
  'working-directory': text
    .refine((path) => !path.startsWith('/') && !path.split('/').includes('..'), {
      error: 'expected a folder within the checkout',
    })
    .default('.')
    .describe('Folder within the checkout.'),
  env: env.optional(),
  if: z
    .string(typed(CONDITION_WORDS))
    .transform((value) => /^(?:\$\{\{\s*)?(success|failure|always)\(\)(?:\s*\}\})?$/.exec(value.trim())?.[1])
    .refine((word) => word !== undefined, { error: `expected ${CONDITION_WORDS}` })
    .transform((word) => word as 'success' | 'failure' | 'always')
    .default('success')
    .describe('`success()`, `failure()` or `always()`.'),
  'continue-on-error': flag('A failure of this step does not fail the job.').default(false),
  'timeout-minutes': minutes('The step is ended after this many minutes.').optional(),
};

const matrixValues = z
  .array(scalar.max(1000, { error: 'expected at most 1000 characters' }))
  .min(1, { error: 'expected at least one value' });
const matrixEntries = z.array(z.record(jobName, scalar.max(1000)));

export const STRATEGY_KEYS = {
  matrix: z
    .object(
      {
        include: matrixEntries.optional().describe('Entries to add, or values to add to entries.'),
        exclude: matrixEntries.optional().describe('Entries to leave out.'),
      },
      typed('a map of names and lists of values'),
    )
    .catchall(matrixValues)
    .optional()
    .describe('One run for each combination of the values.'),
  'fail-fast': flag(
    'Whether an entry that fails cancels the others; else every entry runs to its end.',
  ).default(true),
};

const steps = z
  .array(strict(STEP_KEYS, 'a map with `run`'), typed('a list of steps, each with `run`'))
  .min(1, { error: 'expected at least one step' })
  .max(500, { error: 'expected at most 500 steps' })
  .describe('Executed one after the other.');

export const SERVICE_KEYS = {
  image: imageName.describe('Image of the service.'),
  env: env.optional(),
  command: listOf(text, 'Arguments in place of the image’s own; its entry point stays.').optional(),
  'health-check': text
    .min(1, { error: 'expected a command' })
    .optional()
    .describe('For `/bin/sh` in the service’s container; the service is ready once it exits with 0.'),
  'ready-ports': listOf(
    wholeNumber(1, 65_535),
    'TCP ports that it listens on once it is ready; by default any one that its image exposes.',
  ).optional(),
};

/** A file's name: dots alone are folders. */
const ARTIFACT_NAME = /^(?!\.+$)[A-Za-z0-9._-]{1,100}$/;

function artifactNameWords({ input }: { readonly input?: unknown }): string {
  const words = 'expected up to 100 letters, digits, `.`, `_` and `-`';
  const isExpression = typeof input === 'string' && input.includes('${{');
  return isExpression
    ? `${words} without \`\${{ }}\` (each entry of a matrix keeps its own)`
    : `${words}, not dots alone`;
}

const SIZE_WORDS = 'a size such as 512M or 8GiB';

const COMMON_KEYS = {
  image: imageName
    .optional()
    .describe('Image of the container that the job runs in; by default the job runs on the host.'),
  services: z
    .record(
      text
        .regex(SERVICE_NAME, { error: SERVICE_NAME_WORDS })
        .refine(isServiceName, { error: SERVICE_NAME_WORDS }),
      strict(SERVICE_KEYS, 'a map with `image`'),
      typed('a map of services by their names'),
    )
    .refine((services) => Object.keys(services).length <= MOST_SERVICES, {
      error: `expected at most ${MOST_SERVICES} services`,
    })
    .optional()
    .describe('Containers beside the job’s own, in a network of their own, each reached by its name.'),
  'image-file': text
    .refine((path) => path.includes('${{') || isImageFile(path), {
      error: 'expected a file within the checkout, such as ci/Dockerfile',
    })
    .optional()
    .describe(
      'In place of `image`: a Dockerfile of the commit that the image is built from, with its folder as the context.',
    ),
  'image-pull': z
    .enum(IMAGE_PULL_WISHES, { error: 'expected missing or always' })
    .optional()
    .describe(
      'Whether the image, or what an `image-file` begins from, is pulled where the host does not have it, or always.',
    ),
  name: shown.min(1, { error: 'expected a name' }).max(200).optional().describe('Shown instead of the key.'),
  labels: listOf(text.min(1).max(100), 'Only a runner that has all of these takes the job.').default([]),
  cpus: amount(0.1, 4096, 'How many of the host’s cores the job takes.').default(1),
  memory: z
    .string(typed(SIZE_WORDS))
    .transform((value, context) => {
      const bytes = parseBytes(value);
      if (bytes === null) context.addIssue(`expected ${SIZE_WORDS}`);
      return bytes ?? 0;
    })
    .meta({
      description: 'How much of the host’s memory the job takes.',
      json: { type: ['string', 'number'] },
    })
    .default(0),
  'retry-lost': flag(
    'Whether the job starts again on another host when its own is lost; by default true without `serial`.',
  ).optional(),
  'timeout-minutes': minutes('The job is ended after this many minutes.').default(60),
  checkout: z
    .union([
      flag('False: no source.'),
      strict({ submodules: flag('Fetch submodules too.').default(false) }, 'a map with `submodules`'),
    ])
    .default(true)
    .describe('Whether the job gets the source, and its submodules.'),
  env: env.optional(),
  steps,
  artifacts: z
    .array(
      strict(
        {
          name: text.regex(ARTIFACT_NAME, { error: artifactNameWords }),
          paths: listOf(text.min(1), 'Globs of files within the checkout.').refine(
            ({ length }) => length > 0,
            { error: 'expected at least one pattern' },
          ),
        },
        'a map with `name` and `paths`',
      ),
      typed('a list of artifacts, each with `name` and `paths`'),
    )
    .max(100, { error: 'expected at most 100 artifacts' })
    .default([])
    .describe('Files kept after the job.'),
};

export const JOB_KEYS = {
  ...COMMON_KEYS,
  needs: listOf(neededJob, 'Jobs that must have passed before this one starts.').default([]),
  strategy: strict(STRATEGY_KEYS, 'a map with `matrix`').optional(),
  serial: text.min(1).max(200).optional().describe('Runs with the same name go one at a time, in order.'),
  supersede: flag('A newer push to the same branch ends runs of this job that are still queued.').default(
    false,
  ),
};

export const COMMAND_KEYS = COMMON_KEYS;

const globs = (description: string) =>
  listOf(
    text
      .min(1)
      .max(300)
      .refine((glob) => !/[?+[\]\\]/.test(glob), {
        error: 'expected a pattern of `*`, `**` and a leading `!` only',
      }),
    description,
  ).optional();

const FILTER_KEYS = {
  branches: globs('Branches, for a pull request the one it goes into; `*` stops at a slash, `**` does not.'),
  paths: globs('Changed files: one of them must match. Pushes of tags have none and always match.'),
};

const EVENTS = ['push', 'pull_request'] as const;
const eventName = z.enum(EVENTS, {
  error: ({ input }) => {
    const hint = typeof input === 'string' && Object.hasOwn(EVENT_HINTS, input) ? EVENT_HINTS[input] : null;
    return `expected ${EVENTS.join(' or ')}${hint ? ` (${hint})` : ''}`;
  },
});

export const EVENT_KEYS = {
  push: strict({ ...FILTER_KEYS, tags: globs('Tags.') }, 'a map of `branches`, `paths` or `tags`')
    .nullable()
    .optional(),
  pull_request: strict(FILTER_KEYS, 'a map of `branches` or `paths`').nullable().optional(),
};

/** No comment starts a job of another name. */
const commandJob = strict(COMMAND_KEYS, 'a map with `steps`').meta({ id: 'command' });
const COMMAND_JOBS = Object.fromEntries(
  AGENT_COMMANDS.map((name) => [name, commandJob.optional()]),
) as Record<AgentCommand, z.ZodOptional<typeof commandJob>>;

export const jobSchema = strict(JOB_KEYS, 'a map with `steps`');

export const ROOT_KEYS = {
  name: shown.min(1).max(200).optional().describe('Name of the workflow.'),
  on: z
    .union([eventName, z.array(eventName), strict(EVENT_KEYS)])
    .default(['push', 'pull_request'])
    .describe('Events that start the jobs; by default push and pull_request.'),
  env: env.optional(),
  jobs: z
    .record(jobName, jobSchema, typed('a map of jobs by their names'))
    .optional()
    .describe('The jobs, by name.'),
  commands: strict(COMMAND_JOBS)
    .optional()
    .describe('Jobs that a comment on an issue or pull request starts, by the command’s name.'),
};

export const workflowSchema = strict(ROOT_KEYS, 'a map with `jobs`');
export type RawWorkflow = z.output<typeof workflowSchema>;
export type RawJob = NonNullable<RawWorkflow['jobs']>[string];
export type RawCommand = NonNullable<NonNullable<RawWorkflow['commands']>[AgentCommand]>;

/**
 * An object without other keys. For an unknown key zod has one message only, so it carries the known
 * ones, separated by spaces; messages.ts makes a fault of each unknown key with it. `words` say what is
 * expected where something else than a map stands.
 */
function strict<Shape extends z.ZodRawShape>(shape: Shape, words?: string) {
  const known = Object.keys(shape).join(' ');
  return z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? known : typeWords(issue, words)),
  });
}

/** What is expected in place of a value of another type, where more can be said than the type. */
function typeWords(issue: z.core.$ZodRawIssue, words: string | undefined): string | undefined {
  if (words === undefined || issue.code !== 'invalid_type') return undefined;
  return `expected ${words}, found ${foundWord(issue.input)}`;
}

function typed(words: string) {
  return { error: (issue: z.core.$ZodRawIssue) => typeWords(issue, words) };
}
