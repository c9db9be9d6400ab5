/**
 * What can be the name of an image. One with a leading dash would be read as a flag; what else is wrong
 * with a name, the engine says.
 */
export function isImageName(text: string): boolean {
  return text.length <= 400 && /^[A-Za-z0-9][A-Za-z0-9._/:@-]*$/.test(text);
}
