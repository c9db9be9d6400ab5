import { expect, it } from 'vitest';
import { parseWorkflow } from '../../../../src/shared/workflow/parse.ts';
import { faultLine } from '../../../../src/shared/workflow/types.ts';

const STEPS = 'steps: [{run: x}]';

function faults(text: string): string[] {
  const parsed = parseWorkflow(text, 'f');
  return parsed.ok ? [] : parsed.faults.map(faultLine);
}

it.each([
  [
    'services without an image',
    `jobs:\n  a: {${STEPS}, services: {db: {image: x}}}\n`,
    'f:2:26: a job with `services` needs an `image` or `image-file`: they are reached by their names from its container, not from the host',
  ],
  [
    'a service without an image',
    `jobs:\n  a: {${STEPS}, image: x, services: {db: {}}}\n`,
    'f:2:51: `image`: expected the name of an image, such as debian:12, found nothing',
  ],
  [
    "a service with another repository's image",
    `jobs:\n  a:\n    image: x\n    services:\n      db: {image: 0123456789ab}\n    ${STEPS}\n`,
    "f:5:7: service `db`: image 0123456789ab may be another repository's: expected a name with a tag",
  ],
  [
    'a service that is no host',
    `jobs:\n  a: {${STEPS}, image: x, services: {my_db: {image: x}}}\n`,
    'f:2:47: the key `my_db`: expected a host name of lower-case letters, digits and -, which is not job or localhost',
  ],
  [
    'a service with the name of the job',
    `jobs:\n  a: {${STEPS}, image: x, services: {job: {image: x}}}\n`,
    'f:2:47: the key `job`: expected a host name of lower-case letters, digits and -, which is not job or localhost',
  ],
  [
    'published ports',
    `jobs:\n  a: {${STEPS}, image: x, services: {db: {image: x, ports: ["1:1"]}}}\n`,
    'f:2:62: the key `ports`: a service publishes no ports, the job reaches all of them by its name; expected `ready-ports` for those to wait for',
  ],
  [
    'flags of an engine',
    `jobs:\n  a: {${STEPS}, image: x, services: {db: {image: x, options: --privileged}}}\n`,
    'f:2:62: the key `options`: no flag of the engine comes from a workflow; expected `health-check`, `command` or `env`',
  ],
  [
    'a port',
    `jobs:\n  a: {${STEPS}, image: x, services: {db: {image: x, ready-ports: 70000}}}\n`,
    'f:2:75: `ready-ports`: expected a whole number from 1 to 65535, found `70000`',
  ],
  [
    'a value of a service with several lines',
    `jobs:\n  a:\n    image: x\n    services:\n      db: {image: x, env: {A: "1\\n2"}}\n    ${STEPS}\n`,
    'f:5:7: service `db`: no value of several lines can be handed to a service in `env`: A',
  ],
])('a fault in the services of a job says where it is and what was expected: %s', (_name, text, fault) => {
  expect(faults(text)).toEqual([fault]);
});

it('services of a job without any are no fault, on the host neither', () => {
  expect(faults(`jobs:\n  a: {${STEPS}, services: {}}\n`)).toEqual([]);
});
