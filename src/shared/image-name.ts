/**
 * What can be the name of an image: `[HOST[:PORT]/]PATH[:TAG][@sha256:HEX]`. Nothing else reaches an
 * engine: a leading dash would be a flag, and podman reads `dir:/path` as files of the host.
 */
export function isImageName(text: string): boolean {
  if (text.length > 400) return false;
  const [name = '', digest, ...more] = text.split('@');
  if (more.length > 0 || (digest !== undefined && !/^sha256:[0-9a-f]{64}$/.test(digest))) return false;
  const parts = name.split('/');
  const last = parts.pop() ?? '';
  const [end = '', tag, ...rest] = last.split(':');
  if (rest.length > 0 || (tag !== undefined && !/^\w[\w.-]{0,127}$/.test(tag))) return false;
  if (PODMAN_STORES.test(end) && parts.length === 0 && tag !== undefined) return false;
  const [host = ''] = parts;
  const path = HOST.test(host) ? parts.slice(1) : parts;
  return [...path, end].every((part) => PART.test(part));
}

const PART = /^[a-z0-9]+((\.|_{1,2}|-+)[a-z0-9]+)*$/;
/** As engines tell a host from the first part of a path: a dot, a port, `localhost`. */
const HOST = /^(localhost|[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+|[A-Za-z0-9-]+(?=:))(:\d{1,5})?$/;
/** Podman takes these in front of a colon for where an image is, not for its name. */
const PODMAN_STORES = /^(containers-storage|docker-daemon|docker-archive|oci-archive|oci|dir|sif|ostree)$/;

const BUILT_HERE = 'vole-built';

/** The tag of an image that vole has built, so that no pruning of nameless images takes it. Nothing is found by it. */
export function builtTag(name: string, directory: string): string {
  return `localhost/${BUILT_HERE}/${name}:${directory}`;
}

/**
 * Whether the name may lead to an image that vole has built, which is for one repository and one trust
 * alone: its id or the beginning of that, or the name that it has here. Engines take an id for a name.
 */
export function mayBeBuiltHere(name: string): boolean {
  return /^(sha256:)?[0-9a-f]+$/i.test(name) || name.split('/').includes(BUILT_HERE);
}
