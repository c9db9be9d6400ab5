/**
 * Reads the log of a storm: `grant ID MODE` is written after a grant, `end ID` before the release, `killing PID`
 * before a process is killed, `missing ID` where a holder's file was not there. `ID` begins with the process. Gives
 * a line for each overlap that a lock must not allow.
 */
export function faultsIn(log: string): string[] {
  const faults: string[] = [];
  const held = new Map<string, string>();
  const killed = new Set<string>();
  for (const line of log.split('\n')) {
    const [what, id = '', mode = ''] = line.split(' ');
    if (what === 'missing') faults.push(line);
    else if (what === 'end') held.delete(id);
    else if (what === 'killing') {
      killed.add(id);
      for (const holder of held.keys()) if (holder.split('.')[0] === id) held.delete(holder);
    } else if (what === 'grant') {
      for (const [other, otherMode] of held) {
        if (mode === 'exclusive' || otherMode === 'exclusive')
          faults.push(`${line} while ${other} ${otherMode}`);
      }
      // What a process wrote between the line about its end and its end is over with it.
      if (!killed.has(id.split('.')[0] ?? '')) held.set(id, mode);
    }
  }
  return faults;
}
