/** Variables by which git, ssh and curl find their configuration, keys and proxies. */
const KEPT =
  /^(?:PATH|HOME|USER|LOGNAME|TMPDIR|XDG_CONFIG_HOME|SSH_AUTH_SOCK|SSL_CERT_FILE|SSL_CERT_DIR|GIT_SSL_CAINFO|(?:https?|all|no)_proxy|(?:HTTPS?|ALL|NO)_PROXY)$/;

/**
 * What vole's own git gets of an environment: only what it needs to reach a repository. A `GIT_DIR`, as hooks have
 * it, would turn it to another one.
 */
export function gitEnvOf(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const kept = Object.entries(env).filter(
    (entry): entry is [string, string] => KEPT.test(entry[0]) && entry[1] !== undefined,
  );
  return Object.fromEntries(kept);
}
