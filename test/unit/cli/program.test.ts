import { describe, expect, it } from 'vitest';
import { buildProgram, runCli } from '../../../src/cli/program.ts';
import { recordedContext } from '../../support/cli-context.ts';

async function run(argv: string[], given: Parameters<typeof recordedContext>[0] = {}) {
  const context = recordedContext(given);
  const code = await runCli(argv, context);
  return { code, out: context.out, err: context.err };
}

describe('a wrong command line gives one line and exit status 2', () => {
  it.each([
    [['lnt'], "vole: unknown command 'lnt' (did you mean lint?); see `vole --help`"],
    [['lint', '--jsn'], "vole: unknown option '--jsn' (did you mean --json?); see `vole lint --help`"],
    [
      ['lint', 'a', 'b'],
      "vole: too many arguments for 'lint'. Expected 1 argument but got 2; see `vole lint --help`",
    ],
    [['doctor', '--jobs'], "vole: option '--jobs <N>' argument missing; see `vole doctor --help`"],
    [['doctor', '--jobs', '0'], "vole: --jobs: '0' is not allowed; use a whole number from 1 to 256"],
    [['doctor', '--jobs', 'x'], "vole: --jobs: 'x' is not allowed; use a whole number from 1 to 256"],
    [['doctor', '--jobs='], "vole: --jobs: '' is not allowed; use a whole number from 1 to 256"],
    [
      ['doctor', '--min-free', '10Q'],
      "vole: --min-free: '10Q' is not allowed; use a size such as 500M or 10GiB, or a share of the file system such as 50%",
    ],
  ])('%j', async (argv, line) => {
    expect(await run(argv)).toEqual({ code: 2, out: '', err: `${line}\n` });
  });

  it('but for several wrong settings, which are one line each', async () => {
    const { code, err } = await run(['doctor', '--jobs', '0'], { env: { VOLE_MIN_FREE: 'much' } });
    expect([code, err.split('\n').length]).toEqual([2, 3]);
    expect(err).toMatch(/^vole: --jobs: .*\nvole: VOLE_MIN_FREE: 'much' .*\n$/);
  });
});

describe('help', () => {
  it('goes to standard output where it is asked for', async () => {
    const { code, out, err } = await run(['--help']);
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain('Usage: vole [options] [command]');
    expect(out).toContain('Examples:');
  });

  it('goes to standard error where no command was given', async () => {
    const { code, out, err } = await run([]);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain('Usage: vole');
  });

  it('is as wide as the terminal', async () => {
    const { out } = await run(['doctor', '--help'], { columns: 60 });
    const [options = ''] = out.split('Examples:');
    expect(Math.max(...options.split('\n').map((line) => line.length))).toBeLessThanOrEqual(60);
  });

  it('of a group has an example of each of its commands', async () => {
    const groups = buildProgram(recordedContext()).commands.filter(({ commands }) => commands.length > 0);
    expect(groups.length).toBeGreaterThan(5);
    for (const group of groups) {
      const { out } = await run([group.name(), '--help']);
      const [, examples = ''] = out.split('Examples:\n');
      for (const part of group.commands)
        expect(examples, group.name()).toMatch(new RegExp(`^  vole ${group.name()} ${part.name()}\\b`, 'm'));
    }
  });

  it('of a command with many options has them under headings', async () => {
    const { out } = await run(['runner', '--help']);
    const under = (heading: string) => out.split(`${heading}:\n`)[1]?.split('\n\n')[0] ?? '';
    expect(under('Containers')).toMatch(/^ {2}--engine /m);
    expect(under('Directory and caches')).toMatch(/^ {2}--cache-size /m);
    expect(under('Agent runs')).toMatch(/^ {2}--agent-url /m);
    expect(under('Options')).toMatch(/^ {2}--log-level /m);
    expect(under('Options')).not.toContain('--cache-size');
  });

  it('has a summary of every command, and an option --json where a command prints facts', () => {
    const { commands } = buildProgram(recordedContext());
    expect(commands.length).toBeGreaterThan(1);
    for (const command of commands) expect(command.description(), command.name()).not.toBe('');
  });
});

it('prints its version', async () => {
  expect(await run(['--version'])).toEqual({
    code: 0,
    out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    err: '',
  });
});

it('prints the stack of an error only with --verbose', async () => {
  const { err } = await run(['doctor', '--jobs', '0', '--verbose']);
  expect(err).toMatch(/^vole: --jobs.*\nVoleError: [\s\S]*\n {4}at /);
});
