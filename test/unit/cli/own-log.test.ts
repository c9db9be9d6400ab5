import { closeSync, fstatSync, openSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isJournal, ownLog, textOf } from '../../../src/cli/own-log.ts';
import { recordedContext } from '../../support/cli-context.ts';

function logged(logFormat: 'auto' | 'json' | 'text', interactive: boolean): string {
  const context = { ...recordedContext(), interactive };
  let said = '';
  context.stderr = (text) => void (said += text);
  ownLog({ logLevel: 'info', logFormat }, context).warn({ run: 7, job: 'build' }, 'run started');
  return said;
}

describe("vole's own log", () => {
  it.each([
    { format: 'auto', interactive: true, text: true },
    { format: 'auto', interactive: false, text: false },
    { format: 'text', interactive: false, text: true },
    { format: 'json', interactive: true, text: false },
  ] as const)('is for people: $text, where --log-format is $format and a terminal $interactive', (given) => {
    const said = logged(given.format, given.interactive);
    if (given.text) expect(said).toMatch(/^\d\d:\d\d:\d\d warn run started {2}run=7 job=build\n$/);
    else expect(JSON.parse(said)).toMatchObject({ level: 40, msg: 'run started', run: 7, job: 'build' });
  });

  it('leaves the time to the journal, which is known by its device and inode', () => {
    const fd = openSync('/dev/null', 'r');
    const { dev, ino } = fstatSync(fd);
    expect(isJournal({ JOURNAL_STREAM: `${dev}:${ino}` }, fd)).toBe(true);
    // Inherited by a process whose standard error goes elsewhere.
    expect(isJournal({ JOURNAL_STREAM: `${dev}:${ino + 1}` }, fd)).toBe(false);
    expect(isJournal({}, fd)).toBe(false);
    closeSync(fd);
    const line = JSON.stringify({ level: 30, time: 0, msg: 'draining', running: 2 });
    expect(textOf(line, false)).toBe('info draining  running=2\n');
    expect(textOf(line, true)).toBe('00:00:00 info draining  running=2\n');
  });

  it('is one line whatever a job is called', () => {
    const line = JSON.stringify({ level: 30, time: 0, msg: 'a\nb', job: 'x\r\u001b[31m\u0085' });
    expect(textOf(line, false)).toBe('info a\\nb  job=x\\r\\u001b[31m?\n');
  });
});
