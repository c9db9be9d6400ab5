/**
 * Whether a repository (`owner/name`) is one of those that the globs name. `*` stands for any characters
 * within a part of the path, never for a slash; everything else stands for itself. No globs take all.
 */
export function matchesRepository(globs: readonly string[], name: string): boolean {
  return globs.length === 0 || globs.some((glob) => matchesPath(glob, name));
}

function matchesPath(glob: string, name: string): boolean {
  const wanted = glob.split('/');
  const parts = name.split('/');
  return wanted.length === parts.length && wanted.every((part, at) => matchesPart(part, parts[at] ?? ''));
}

/**
 * Without a regular expression: globs come from peers, and many stars make one backtrack without end.
 * A star first takes nothing; where that leads nowhere, the last star alone takes one character more.
 */
function matchesPart(glob: string, text: string): boolean {
  let at = 0;
  let read = 0;
  let star = -1;
  let starRead = 0;
  while (read < text.length) {
    if (glob[at] === '*') {
      star = at++;
      starRead = read;
    } else if (glob[at] === text[read]) {
      at += 1;
      read += 1;
    } else if (star >= 0) {
      at = star + 1;
      read = ++starRead;
    } else {
      return false;
    }
  }
  while (glob[at] === '*') at += 1;
  return at === glob.length;
}
