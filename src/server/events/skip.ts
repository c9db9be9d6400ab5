/** What a commit's message says so that it starts nothing, as other CI systems read it too. */
export function asksToSkip(message: string): boolean {
  return /\[(?:skip ci|ci skip|no ci|skip vole|vole skip)\]/i.test(message);
}
