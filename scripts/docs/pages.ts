import { workflowJsonSchema } from '../../src/shared/workflow/json-schema.ts';
import { cliPage } from './cli.ts';
import { configurationPage } from './configuration.ts';
import { errorsPage } from './errors.ts';

/** Every generated file, by its path within the repository. */
export function pages(): ReadonlyMap<string, string> {
  return new Map([
    ['docs/configuration.md', configurationPage()],
    ['docs/cli.md', cliPage()],
    ['docs/errors.md', errorsPage()],
    ['docs/workflow.schema.json', `${JSON.stringify(workflowJsonSchema(), null, 2)}\n`],
  ]);
}
