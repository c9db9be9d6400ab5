import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { findOpenCode, hostKind, packagesFor } from '../../../../src/runner/agent/opencode-binary.ts';
import { openCodeConfig } from '../../../../src/runner/agent/opencode-config.ts';

describe('the binary', () => {
  it.each([
    [{ arch: 'x64', musl: false, avx2: true }, ['opencode-linux-x64', 'opencode-linux-x64-baseline']],
    [{ arch: 'x64', musl: false, avx2: false }, ['opencode-linux-x64-baseline']],
    [
      { arch: 'x64', musl: true, avx2: true },
      ['opencode-linux-x64-musl', 'opencode-linux-x64-baseline-musl'],
    ],
    [{ arch: 'arm64', musl: true, avx2: false }, ['opencode-linux-arm64-musl']],
    [{ arch: 'riscv64', musl: false, avx2: false }, []],
  ])('of %j is in %j', (kind, packages) => {
    expect(packagesFor(kind)).toEqual(packages);
  });

  it('is one that opencode-ai offers', () => {
    const offered = JSON.parse(readFileSync('node_modules/opencode-ai/package.json', 'utf8')) as {
      optionalDependencies: Record<string, string>;
    };
    for (const arch of ['x64', 'arm64'])
      for (const musl of [true, false])
        for (const avx2 of [true, false])
          expect(Object.keys(offered.optionalDependencies)).toEqual(
            expect.arrayContaining(packagesFor({ arch, musl, avx2 })),
          );
  });

  it('that is not there is said in one line with what to do', () => {
    expect(findOpenCode({ arch: 'arm64', musl: true, avx2: false })).toEqual({
      ok: false,
      why:
        'the package opencode-linux-arm64-musl is not installed: ' +
        'npm install opencode-ai@1.18.33 @opencode-ai/sdk@1.18.33, in the folder that vole is installed in',
    });
    expect(findOpenCode({ arch: 'mips', musl: false, avx2: false })).toEqual({
      ok: false,
      why: 'OpenCode has no build for mips on Linux',
    });
  });

  it('without AVX2 is the one for old processors', () => {
    expect(hostKind('x64', 'flags\t\t: fpu sse4_2 avx avx2 bmi1\n').avx2).toBe(true);
    expect(hostKind('x64', 'flags\t\t: fpu sse4_2 avx\n').avx2).toBe(false);
  });
});

describe('the configuration', () => {
  const parts = {
    models: {
      explore: { model: 'small', variant: null },
      plan: { model: 'large', variant: 'high' },
      build: { model: 'large', variant: 'max' },
    },
    modelUrl: 'http://127.0.0.1:1/token',
    context7Key: null,
    documentationUrl: 'https://docs.example.org/mcp',
    mostSteps: 9,
    shell: '/home/shell/bash',
  };

  it('has each model once, with all variants that are asked for', () => {
    expect(openCodeConfig(parts)).toMatchObject({
      provider: {
        vole: {
          models: {
            small: { variants: {} },
            large: { variants: { high: { reasoningEffort: 'high' }, max: { reasoningEffort: 'max' } } },
          },
        },
      },
    });
  });

  it('asks nobody for anything: what is not allowed is denied', () => {
    const { agent, permission } = openCodeConfig(parts) as {
      agent: Record<string, { disable?: boolean; permission?: Record<string, string> }>;
      permission: Record<string, string>;
    };
    const ours = Object.entries(agent).filter(([name]) => name.startsWith('vole-'));
    expect(ours.map(([name]) => name)).toEqual(['vole-explore', 'vole-plan', 'vole-review', 'vole-build']);
    for (const rules of [permission, ...ours.map(([, { permission }]) => permission ?? {})]) {
      expect(Object.values(rules)).not.toContain('ask');
      expect(rules).toMatchObject({ external_directory: 'deny', webfetch: 'deny', task: 'deny' });
    }
    for (const [name, { disable }] of Object.entries(agent))
      expect(disable ?? false).toBe(!name.startsWith('vole-'));
  });

  it('has the documentation’s tool with its key, or neither', () => {
    expect(openCodeConfig(parts)).not.toHaveProperty('mcp');
    const { mcp, agent } = openCodeConfig({ ...parts, context7Key: 'k' }) as {
      mcp: unknown;
      agent: Record<string, { permission?: Record<string, string> }>;
    };
    expect(mcp).toMatchObject({
      context7: { url: 'https://docs.example.org/mcp', headers: { CONTEXT7_API_KEY: 'k' } },
    });
    expect(agent['vole-plan']?.permission).toMatchObject({ 'context7_*': 'allow' });
  });
});
