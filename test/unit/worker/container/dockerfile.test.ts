import { describe, expect, it } from 'vitest';
import { baseFault, mountsCaches } from '../../../../src/worker/container/dockerfile.ts';

describe('what a build begins from', () => {
  it.each([
    'FROM debian:12',
    'FROM --platform=linux/amd64 node:22-slim AS base\nFROM base\nCOPY --from=base /a /b\nCOPY --from=0 /a /b',
    'ARG VERSION=22\nFROM node:${VERSION}-slim',
    'ARG V\nFROM node:${V:-22}',
    'FROM scratch\nADD a b',
    'FROM a:1 AS bad\nFROM bad',
    'FROM registry.example.org:5000/team/app@sha256:0000000000000000000000000000000000000000000000000000000000000000',
    'FROM python:3\nRUN <<EOF\nfrom abc import ABC\nEOF',
    'FROM python:3\nRUN --mount=type=cache,target=/root/.cache pip install x',
    '# FROM abc\nFROM debian:12 \\\n  AS base',
  ])('may be an image by its name: %j', (text) => {
    expect(baseFault(text)).toBeNull();
  });

  it.each([
    'FROM sha256:0123456789abcdef',
    'FROM abc',
    'from ABC',
    'FROM debian:12\nFROM 0123456789ab AS x',
    'FROM debian:12\nCOPY --from=0123456789ab /a /b',
    'FROM debian:12\nCOPY --from=1 /a /b',
    'FROM debian:12\nRUN --mount=type=bind,from=abc,target=/x ls /x',
    'ARG A=abc\nFROM $A',
    'ARG A=ab\nARG B=${A}c\nFROM ${B}',
    'FROM ${NONE:-abc}',
    'FROM ${NONE}abc',
    'FROM "a"bc',
    'FROM a\\bc',
    'FROM \\\n# between\n  abc',
    '# escape=`\nFROM `\n  abc',
    'FROM debian:12\nRUN true <<X\nFROM abc\nCMD\nX',
    'FROM localhost/vole-built/team-app-0123456789abcdef:0123456789ab',
    'FROM vole-built/team-app-0123456789abcdef:0123456789ab',
    'ARG A=${B#x}\nFROM $A',
  ])('is not what may be the id of another image here: %j', (text) => {
    expect(baseFault(text)).toMatch(/may be the id|cannot be told/);
  });
});

it('a file that mounts caches is told by its words', () => {
  expect(mountsCaches('RUN --mount=type=cache,target=/x true')).toBe(true);
  expect(mountsCaches('# syntax=docker/dockerfile:1\nFROM a:1')).toBe(true);
  expect(mountsCaches('FROM debian:12\nRUN true')).toBe(false);
});
