import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HiddenSettings } from '../../../../../src/worker/agent/opencode/hidden-settings.ts';

let tree: string;
let workspace: string;
let settings: HiddenSettings;
beforeEach(() => {
  tree = mkdtempSync(path.join(os.tmpdir(), 'vole-hidden-'));
  workspace = path.join(tree, 'src');
  mkdirSync(path.join(workspace, '.opencode', 'plugin'), { recursive: true });
  writeFileSync(path.join(workspace, '.opencode', 'plugin', 'a.ts'), 'hostile');
  symlinkSync('nowhere', path.join(workspace, 'opencode.json'));
  writeFileSync(path.join(workspace, 'README.md'), 'x');
  settings = new HiddenSettings(workspace, tree);
});
afterEach(() => rmSync(tree, { recursive: true }));

describe('a repository’s settings for the agents’ server', () => {
  it('are out of the workspace while it looks there, and back as they were', () => {
    for (let turn = 0; turn < 2; turn++) {
      expect([settings.hide(), settings.hide()]).toEqual([null, null]);
      expect(readdirSync(workspace)).toEqual(['README.md']);
      expect([settings.show(), settings.show()]).toEqual([null, null]);
      expect(readFileSync(path.join(workspace, '.opencode', 'plugin', 'a.ts'), 'utf8')).toBe('hostile');
      expect(readlinkSync(path.join(workspace, 'opencode.json'))).toBe('nowhere');
    }
  });

  it('are none of the agent’s to change: what it puts in their place is dropped', () => {
    settings.hide();
    mkdirSync(path.join(workspace, '.opencode'));
    writeFileSync(path.join(workspace, '.opencode', 'b.ts'), 'x');
    writeFileSync(path.join(workspace, 'opencode.json'), '{}');
    writeFileSync(path.join(workspace, 'opencode.jsonc'), '{}');
    expect(settings.hide()).toBeNull(); // as when the server was started again in mid-turn
    expect(readdirSync(workspace)).toEqual(['README.md']);
    writeFileSync(path.join(workspace, 'opencode.jsonc'), '{}');
    settings.show();
    expect(readdirSync(path.join(workspace, '.opencode'))).toEqual(['plugin']);
    expect(existsSync(path.join(workspace, 'opencode.jsonc'))).toBe(false);
  });

  it('that cannot be set aside are said, in one line', () => {
    writeFileSync(path.join(tree, 'agent-hidden'), 'in the way');
    expect(settings.hide()).toMatch(/^the repository's settings for it cannot be set aside: [^\n]+$/);
  });
});
