import type { Reporter, TestModule } from 'vitest/node';

/** Says at the end how many tests were skipped and why: one that is skipped in silence looks passed. */
export default class SkippedReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = new Map<string, number>();
    for (const module of modules) {
      for (const test of module.children.allTests('skipped')) {
        const result = test.result();
        const why = result.state === 'skipped' ? result.note : undefined;
        // Those without were left out by whoever chose what to run.
        if (why !== undefined) counts.set(why, (counts.get(why) ?? 0) + 1);
      }
    }
    for (const [why, count] of counts) console.log(`${count} tests skipped: ${why}`);
  }
}
