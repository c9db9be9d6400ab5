/**
 * What can be an `image-file`: a path within the checkout, `ci/Dockerfile`. What git does not have at that
 * path is a failure of the run.
 */
export function isImageFile(text: string): boolean {
  if (text === '' || text.length > 300 || /[^\x20-\x7e\u00a0-\uffff]/.test(text)) return false;
  return text.split('/').every((part) => part !== '' && part !== '.' && part !== '..' && part !== '.git');
}
