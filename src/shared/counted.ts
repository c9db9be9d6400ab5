/** `1 slot`, `2 slots`; `many` where the plural is not one with an `s`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
