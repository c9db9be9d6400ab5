import { describe, expect, it } from 'vitest';
import { workflowJsonSchema } from '../../../../src/shared/workflow/json-schema.ts';
import { JOB_KEYS, ROOT_KEYS, STEP_KEYS } from '../../../../src/shared/workflow/schema.ts';

type Schema = { properties?: Record<string, Schema>; [key: string]: unknown };

const schema = workflowJsonSchema() as Schema;
const job = schema.properties?.['jobs']?.['additionalProperties'] as Schema;
const step = (job.properties?.['steps']?.['items'] ?? {}) as Schema;

describe('the schema for editors', () => {
  it('has the keys that the check of a file has, and forbids others', () => {
    expect(Object.keys(schema.properties ?? {})).toEqual(Object.keys(ROOT_KEYS));
    expect(Object.keys(job.properties ?? {})).toEqual(Object.keys(JOB_KEYS));
    expect(Object.keys(step.properties ?? {})).toEqual(Object.keys(STEP_KEYS));
    expect([schema, job, step].map((at) => at['additionalProperties'])).toEqual([false, false, false]);
    expect(job['required']).toEqual(['steps']);
  });

  it('lets numbers and booleans stand where a file has them', () => {
    expect(job.properties?.['timeout-minutes']).toMatchObject({ type: 'number', maximum: 43_200 });
    expect(step.properties?.['continue-on-error']).toMatchObject({ type: 'boolean' });
    expect(step.properties?.['env']).toMatchObject({
      additionalProperties: { type: ['string', 'number', 'boolean', 'null'] },
    });
  });

  it('says of every key what it is for', () => {
    const silent = [...Object.entries(job.properties ?? {}), ...Object.entries(step.properties ?? {})].filter(
      ([, at]) => !at['description'] && !Array.isArray(at['anyOf']) && !at.properties,
    );
    expect(silent.map(([name]) => name)).toEqual([]);
  });
});
