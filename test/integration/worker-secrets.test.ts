import { afterAll, expect, test } from 'vitest';
import { WorkerRig } from '../support/worker-rig.ts';

const rig = new WorkerRig();
afterAll(() => rig.close());

const SECRET = 'sekret-0123456789-abcdefghij';

/** Long enough that a limit of 500 characters goes through the secret. */
const upTo = (before: number): string => `${'x'.repeat(before)}${SECRET}`;

test.each([460, 470, 480, 490])(
  'a secret after %i characters is masked whole and then cut',
  async (before) => {
    const secrets = { TOKEN: SECRET };
    const folder = await rig.run({ secrets, steps: [{ run: 'true', workingDirectory: upTo(before - 20) }] });
    expect(folder.outcome).toMatchObject({ result: 'failed', reason: 'spawn' });
    const artifact = await rig.run({
      secrets,
      steps: ['true'],
      artifacts: [{ name: 'x', paths: [`../${upTo(before - 20)}`] }],
    });
    expect(artifact.outcome).toMatchObject({ result: 'failed', reason: 'artifact' });
    const name = await rig.run({ secrets, steps: [{ name: upTo(before - 10), run: 'exit 3' }] });
    expect(name.outcome).toMatchObject({ result: 'failed', reason: 'exit' });
    for (const { outcome } of [folder, artifact, name]) {
      for (const { detail } of [outcome, ...outcome.steps]) expect(detail.length).toBeLessThanOrEqual(500);
      expect(JSON.stringify(outcome)).not.toContain('sekret');
    }
  },
);

test('a script is in the log as it was written, a secret in it masked whole and then cut', async () => {
  const steps = [
    { name: 'at the cut', run: `true ${upTo(385)}` },
    { name: 'by lines', run: 'echo "$TOKEN"\ntrue' },
  ];
  const run = await rig.run({ secrets: { TOKEN: SECRET }, steps });
  expect(run.lines('v', 1)[1]).toMatch(/^ {2}\$ true x{385}\*\*\*$/);
  expect(run.lines('v', 2)).toEqual(['step 2: by lines', '  $ echo "$TOKEN"', '  $ true']);
  expect(run.lines('o', 2)).toEqual(['***']);
});
