import { z } from 'zod';
import { workflowSchema } from './schema.ts';

/** The JSON Schema (2020-12) that editors check `.vole.yml` with. */
export function workflowJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(workflowSchema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      const { json, description } = jsonSchema as { json?: object; description?: string };
      if (!json) return;
      for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
      Object.assign(jsonSchema, json, description === undefined ? {} : { description });
    },
  });
  return { ...schema, title: 'vole workflow' };
}
