// Takes a guard and says `granted`; then obeys lines on standard input: `release`, `block MS`, `exit`.
// Arguments: the locks' directory, the guard's name, `shared` or `exclusive`.
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Guards } from '../../../src/shared/lock/guard.ts';

const [dir = '', name = '', mode] = process.argv.slice(2);
const guards = new Guards(dir);
const guard = await (mode === 'shared' ? guards.shared(name) : guards.exclusive(name));
writeSync(1, 'granted\n');
for await (const line of createInterface({ input: process.stdin })) {
  const [command, argument] = line.split(' ');
  if (command === 'release') {
    guard.release();
    writeSync(1, 'released\n');
  } else if (command === 'block') {
    writeSync(1, 'blocking\n');
    const end = performance.now() + Number(argument);
    while (performance.now() < end);
    writeSync(1, 'unblocked\n');
  } else if (command === 'exit') {
    process.exit(0);
  }
}
