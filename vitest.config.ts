import { defineConfig } from 'vitest/config';

/**
 * `unit` needs neither a build nor a disk; the others run the built program, its worker threads and
 * child processes, so `test/support/build.ts` builds `dist/` first.
 */
export default defineConfig({
  test: {
    pool: 'forks',
    reporters: ['default', './test/support/skipped-reporter.ts'],
    projects: [
      { test: { name: 'unit', include: ['test/unit/**/*.test.ts'], testTimeout: 60_000 } },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          globalSetup: ['test/support/build.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: ['test/support/build.ts'],
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'torture',
          include: ['test/torture/**/*.test.ts'],
          globalSetup: ['test/support/build.ts'],
          testTimeout: 300_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
