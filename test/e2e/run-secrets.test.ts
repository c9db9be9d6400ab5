import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RunRig } from '../support/run-rig.ts';
import { Cleanup } from '../support/temp.ts';

let cleanup: Cleanup;
let rig: RunRig;

beforeEach(() => {
  cleanup = new Cleanup();
  rig = new RunRig(cleanup);
});
afterEach(() => cleanup.run());

const TOKEN = `sekret-${randomBytes(5).toString('hex')}`;
const env = { TOKEN, OTHER: 'another-sekret' };

describe('vole run --secret', () => {
  it('gives jobs the variables that are named, masked', async () => {
    rig.workflow({ a: 'echo "<$TOKEN> <$OTHER> <$NONE>"; test ${#TOKEN} = 17; exit 3' });
    const { out, err } = await rig.run(['--secret', 'TOKEN', '--secret', 'OTHER', '--json'], env);
    expect(err).toContain('a | <***> <***> <>\n');
    expect(out).toContain('exit code 3');
    expect(out + err).not.toMatch(/sekret/);
  });

  it('leaves the value in no file and in no command line while a job runs', async () => {
    const look = [
      'grep -rl --exclude=own "$(cat "$RIG/own")" "$RIG" || true',
      'find "$RIG" -name "secret-key*"',
      'for one in /proc/[0-9]*; do grep -l "$(cat "$RIG/own")" "$one/cmdline" 2>/dev/null || true; done | grep -v "/$$/" || true',
      'echo looked',
    ].join('\n');
    writeFileSync(path.join(rig.root, 'own'), TOKEN.replace('sekret', 's[e]kret'));
    rig.workflow({ a: look });
    const { out } = await rig.run(['--secret', 'TOKEN'], env);
    const lines = out.split('\n').filter((line) => line.startsWith('a | ') && !line.startsWith('a |   $ '));
    expect(lines.at(-1)).toBe('a | looked');
    expect(lines.filter((line) => line.includes(rig.root) || line.includes('/proc/'))).toEqual([]);
  });

  it('gives none to a commit that no branch or tag has, and says so', async () => {
    rig.workflow({ a: 'echo "<$TOKEN>"' });
    rig.commit();
    rig.git('checkout', '-q', '-b', 'side');
    rig.git('commit', '-q', '--allow-empty', '-m', 'proposed');
    rig.git('update-ref', 'refs/pull/1/head', 'HEAD');
    rig.git('checkout', '-q', 'main');
    rig.git('branch', '-q', '-D', 'side');
    const { out, err } = await rig.run(['--secret', 'TOKEN', '--ref', 'refs/pull/1/head'], env);
    expect(out).toContain('a | <>\n');
    expect(err).toBe('vole: no branch or tag has this commit: its jobs are untrusted and get no secret\n');
  });

  it('names a variable that is not set, and ends', async () => {
    rig.workflow({ a: 'true' });
    const { code, out, err } = await rig.run(['--secret', 'TOKEN']);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toBe('vole: --secret TOKEN: no variable TOKEN in the environment: export it first\n');
  });
});
