import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { guardName } from '../../../src/shared/dir-layout.ts';
import { CacheRig, DEAD } from '../../support/cache-rig.ts';
import { Cleanup } from '../../support/temp.ts';
import { voleCommand } from '../../support/vole-command.ts';

let cleanup: Cleanup;
let root: string;
let rig: CacheRig;
beforeEach(async () => {
  cleanup = new Cleanup();
  root = cleanup.tempDir();
  rig = await CacheRig.open(root, cleanup);
});
afterEach(() => cleanup.run());

async function json(...args: string[]) {
  const { code, stdout, stderr } = await voleCommand(['cache', ...args, '--dir', root, '--json']);
  return { code, stderr, said: JSON.parse(stdout) as Record<string, unknown> };
}

const checkoutName = (repository: string): string => `${repository.replace('/', '-')}-0123456789abcdef`;

/** A saved checkout with one commit; gives its path. */
function saveCheckout(repository: string): string {
  const bare = rig.dir.layout.savedCheckout(checkoutName(repository));
  execFileSync('git', ['init', '-q', '--bare', bare]);
  const git = (...args: string[]) => execFileSync('git', args, { cwd: bare, encoding: 'utf8' }).trim();
  const tree = git('write-tree');
  const who = ['-c', 'user.name=x', '-c', 'user.email=x@example'];
  const commit = git(...who, 'commit-tree', '-m', 'one', tree);
  git('update-ref', 'refs/heads/main', commit);
  return bare;
}

describe('vole cache', () => {
  it.each(['ls', 'trim', 'clear', 'verify'])(
    '%s makes no directory, and says in one line that there is none',
    async (name) => {
      for (const dir of [path.join(root, 'none'), path.join(root, 'cache')]) {
        const { code, stdout, stderr } = await voleCommand(['cache', name, '--dir', dir]);
        expect([code, stdout]).toEqual([66, '']);
        expect(stderr).toMatch(
          /^vole: --dir \S+ (does not exist|is no runner's directory: it has no format\.json)\n$/,
        );
      }
      expect(existsSync(path.join(root, 'none'))).toBe(false);
      expect(readdirSync(path.join(root, 'cache'))).toEqual([]);
    },
  );

  it('ls shows keys in clear, sizes, and what is in use', async () => {
    const free = await rig.fill('team/free');
    const held = await rig.hold('team/held');
    saveCheckout('team/app');
    const { said } = await json('ls');
    expect(said).toMatchObject({
      namespaces: expect.arrayContaining([
        expect.objectContaining({
          name: free,
          repository: 'team/free',
          trust: 'trusted',
          image: 'host',
          inUse: false,
        }),
        expect.objectContaining({ name: held.name, repository: 'team/held', inUse: true }),
      ]),
      checkouts: [{ name: checkoutName('team/app'), inUse: false }],
    });
    const { stdout } = await voleCommand(['cache', 'ls', '--dir', root]);
    expect(stdout).toMatch(/team\/held +trusted +host +not measured +\S+ \w+ ago +in use +team-held-/);
    held.release({ remove: false });
  });

  it('trim removes what is free, says what it skipped, and leaves nothing in the trash', async () => {
    const free = await rig.fill('team/free');
    const held = await rig.hold('team/held');
    const checkout = saveCheckout('team/app');
    const borrowed = rig.dir.guards.try(guardName.savedCheckout(checkoutName('team/app')), 'shared');
    const args = ['--cache-size', '1', '--git-size', '1', '--min-free', '0'];
    const { code, said } = await json('trim', ...args);
    expect(code).toBe(0);
    expect(said).toMatchObject({
      cache: { removed: [free], busy: [held.name] },
      git: { removed: [], busy: [checkoutName('team/app')] },
    });
    expect([existsSync(held.path), existsSync(checkout)]).toEqual([true, true]);
    expect(readdirSync(rig.dir.layout.trash)).toEqual([]);
    held.release({ remove: false });
    borrowed?.release();
    const { stdout } = await voleCommand(['cache', 'trim', '--dir', root, ...args]);
    expect(stdout).toContain(`removed ${held.name}`);
    expect(existsSync(checkout)).toBe(false);
  });

  it('clear removes one repository alone where it is named, else all that is free', async () => {
    const [app, web] = [await rig.fill('team/app'), await rig.fill('team/web')];
    const [appGit, webGit] = [saveCheckout('team/app'), saveCheckout('team/web')];
    const { said } = await json('clear', '--repository', 'team/app');
    expect(said).toEqual({
      cache: { removed: [app], busy: [] },
      git: { removed: [checkoutName('team/app')], busy: [] },
    });
    expect([existsSync(appGit), existsSync(webGit)]).toEqual([false, true]);
    const held = await rig.hold('team/web');
    const { stdout } = await voleCommand(['cache', 'clear', '--dir', root]);
    expect(stdout).toContain(`skipped ${web}: in use`);
    expect([existsSync(held.path), existsSync(webGit)]).toEqual([true, false]);
    held.release({ remove: false });
  });

  it('clear refuses what is no repository', async () => {
    const { code, stderr } = await voleCommand(['cache', 'clear', '--dir', root, '--repository', '../x']);
    expect([code, stderr.split('\n').length]).toEqual([2, 2]);
  });

  it('verify says that all is well', async () => {
    await rig.fill('team/app');
    saveCheckout('team/app');
    const { code, stdout } = await voleCommand(['cache', 'verify', '--dir', root]);
    expect([code, stdout]).toEqual([0, 'all is well\n']);
  });

  it('verify names what is damaged, left over and unknown, and changes nothing', async () => {
    const name = await rig.fill('team/app');
    rmSync(path.join(rig.dir.layout.cache, `${name}.json`));
    writeFileSync(path.join(rig.dir.layout.cache, 'gone-0123456789abcdef.json'), '{}');
    mkdirSync(path.join(rig.dir.layout.trash, 'half'));
    rig.leaveTree(rig.identity(DEAD));
    rig.leaveTree(rig.identity({ ...DEAD, run: 2, pidNamespace: 'pid:[1]' }));
    writeFileSync(path.join(rig.leaveTree(rig.identity({ run: 3 })), 'owner.jsonl'), '?');
    const bare = saveCheckout('team/app');
    const objects = path.join(bare, 'objects');
    for (const folder of readdirSync(objects).filter((each) => each.length === 2)) {
      rmSync(path.join(objects, folder), { recursive: true });
    }
    const { code, said } = await json('verify');
    expect(code).toBe(74);
    const findings = (said['findings'] as { what: string; where: string }[]).map(
      ({ what, where }) => `${what} ${where}`,
    );
    expect(findings.toSorted()).toEqual(
      [
        `damaged git/${checkoutName('team/app')}.git`,
        `leftover cache/${name}`,
        'leftover cache/gone-0123456789abcdef',
        'leftover jobs/1-1.srv',
        'leftover trash',
        'unknown jobs/2-1.srv',
        'unknown jobs/3-1.srv',
      ].toSorted(),
    );
    expect(readdirSync(rig.dir.layout.trash)).toEqual(['half']);
  });
});
