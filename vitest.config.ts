import os from 'node:os';
import { defineConfig } from 'vitest/config';

/** Tests wait for other processes most of the time, so two at once do well on two cores. */
const workers = Math.max(2, os.availableParallelism() - 1);

/**
 * `unit` needs neither a build nor a disk; the others run the built program, its worker threads and
 * child processes, so `test/support/build.ts` builds `dist/` first.
 */
export default defineConfig({
  test: {
    pool: 'forks',
    reporters: ['default', './test/support/skipped-reporter.ts'],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          testTimeout: 60_000,
          maxWorkers: workers,
          // No module has state, so a process may have many files: to load the modules costs more than the tests.
          isolate: false,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          globalSetup: ['test/support/build.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          maxWorkers: workers,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: ['test/support/build.ts'],
          testTimeout: 120_000,
          hookTimeout: 60_000,
          maxWorkers: workers,
        },
      },
      {
        test: {
          name: 'torture',
          include: ['test/torture/**/*.test.ts'],
          globalSetup: ['test/support/build.ts'],
          testTimeout: 300_000,
          hookTimeout: 60_000,
          // After the others and alone: they take all that the host has.
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
