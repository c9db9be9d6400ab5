/** A peer's words within a line of ours: printable, and no longer than `most`. */
export function plainLine(text: string, most: number): string {
  const plain = text.replace(/[^\x20-\x7e]/g, '?');
  return plain.length > most ? `${plain.slice(0, most - 3)}...` : plain;
}
