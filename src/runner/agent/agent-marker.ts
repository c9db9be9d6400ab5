/** Marker of the agents' server of a runner process, and of what it starts for no run. */
export function agentMarker(directory: string, process: string): string {
  return `${agentMarkerPrefix(directory)}${process}`;
}

/** No run's marker begins so: behind the directory it has a tree's name. */
export function agentMarkerPrefix(directory: string): string {
  return `${directory}/agent/`;
}
