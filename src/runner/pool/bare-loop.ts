import { Piscina } from 'piscina';

/**
 * The bare loop that `vole bench` sets slots against: the same pool with the same options and as many
 * threads, each doing nothing but spawn the command. `warmUp` of them come before those that count.
 */
export async function bareLoop(options: {
  workerFile: string;
  threads: number;
  count: number;
  warmUp: number;
  command: { file: string; args: string[] };
}): Promise<{ seconds: number }> {
  const { workerFile, threads, count, warmUp, command } = options;
  const pool = new Piscina({
    filename: workerFile,
    minThreads: threads,
    maxThreads: threads,
    concurrentTasksPerWorker: 1,
    atomics: 'disabled',
    recordTiming: false,
  });
  try {
    const warm = Array.from({ length: warmUp }, () => pool.run(command));
    await Promise.all(warm);
    const start = performance.now();
    const codes = (await Promise.all(Array.from({ length: count }, () => pool.run(command)))) as number[];
    const seconds = (performance.now() - start) / 1000;
    const failed = codes.find((code) => code !== 0);
    if (failed !== undefined) throw new Error(`${command.file} ended with ${failed} in the bare loop`);
    return { seconds };
  } finally {
    await pool.destroy();
  }
}
