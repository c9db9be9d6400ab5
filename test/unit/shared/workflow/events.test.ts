import { describe, expect, it } from 'vitest';
import { matchesOn, matchesPaths, pathsOf } from '../../../../src/shared/workflow/events.ts';
import { parseWorkflow } from '../../../../src/shared/workflow/parse.ts';

function on(events: string) {
  const parsed = parseWorkflow(`on: ${events}\njobs: {a: {steps: [{run: x}]}}`);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
  return parsed.workflow.on;
}

const push = (events: string, ref: string) => matchesOn(on(events), { name: 'push', ref });
const pull = (events: string, base: string) => matchesOn(on(events), { name: 'pull_request', base });

describe('an event', () => {
  it('starts the jobs where it is named', () => {
    expect(push('push', 'refs/heads/x')).toBe(true);
    expect(push('[pull_request]', 'refs/heads/x')).toBe(false);
    expect(pull('{pull_request: }', 'main')).toBe(true);
    expect(pull('push', 'main')).toBe(false);
  });

  it('always starts them where a person asks', () => {
    expect(matchesOn(on('{push: {branches: [none]}}'), { name: 'manual' })).toBe(true);
  });

  it.each([
    ['[main]', 'main', true],
    ['[main]', 'maintenance', false],
    ["['rel/*']", 'rel/1', true],
    ["['rel/*']", 'rel/1/2', false],
    ["['rel/**']", 'rel/1/2', true],
    ["['*']", 'a/b', false],
    ["['**']", 'a/b', true],
    ["['**', '!wip/**']", 'wip/a', false],
    ["['**', '!wip/**', 'wip/keep']", 'wip/keep', true],
    ["['!wip']", 'main', false],
    ["['feature/ü#%2F']", 'feature/ü#%2F', true],
    ["['a.c']", 'abc', false],
  ])('on branches %s of %s: %s', (branches, branch, expected) => {
    expect(push(`{push: {branches: ${branches}}}`, `refs/heads/${branch}`)).toBe(expected);
    expect(pull(`{pull_request: {branches: ${branches}}}`, branch)).toBe(expected);
  });

  it('of a tag is let through by a filter of tags, or where there is no filter', () => {
    expect(push('push', 'refs/tags/v1')).toBe(true);
    expect(push("{push: {tags: ['v*']}}", 'refs/tags/v1')).toBe(true);
    expect(push('{push: {branches: [main]}}', 'refs/tags/main')).toBe(false);
    expect(push("{push: {tags: ['v*']}}", 'refs/heads/v1')).toBe(false);
  });

  it('costs little whatever the pattern is', () => {
    const began = performance.now();
    expect(push(`{push: {branches: ['${'**a'.repeat(90)}']}}`, `refs/heads/${'a'.repeat(4000)}b`)).toBe(
      false,
    );
    expect(performance.now() - began).toBeLessThan(5000);
  });
});

describe('a filter of paths', () => {
  it.each([
    [['src/**'], ['a', 'src/b/c'], true],
    [['src/*'], ['src/b/c'], false],
    [['**', '!docs/**'], ['docs/a'], false],
    [['**', '!docs/**'], ['docs/a', 'b'], true],
    [['!docs/**'], ['a'], false],
    [['ü/**'], ['ü/日本'], true],
    [['src/**'], [], false],
  ])('%j of %j: %s', (globs, files, expected) => {
    expect(matchesPaths(globs, files)).toBe(expected);
  });

  it('is that of the event, and of no tag', () => {
    const both = on('{push: {paths: [a]}, pull_request: {paths: [b]}}');
    expect(pathsOf(both, { name: 'push', ref: 'refs/heads/main' })).toEqual(['a']);
    expect(pathsOf(both, { name: 'push', ref: 'refs/tags/v1' })).toBeNull();
    expect(pathsOf(both, { name: 'pull_request', base: 'main' })).toEqual(['b']);
    expect(pathsOf(both, { name: 'manual' })).toBeNull();
    expect(pathsOf(on('push'), { name: 'push', ref: 'refs/heads/main' })).toBeNull();
  });

  it('costs little whatever a stranger asks for, and is then taken as passed', () => {
    const globs = Array.from({ length: 2_000 }, () => '**a'.repeat(90));
    const files = Array.from({ length: 5_000 }, (_, at) => `${'a'.repeat(3_000)}b${at}`);
    const began = performance.now();
    expect(matchesPaths(globs, files)).toBe(true);
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});
