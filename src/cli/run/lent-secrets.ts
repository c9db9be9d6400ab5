import { secretNameSchema, secretValueFault } from '../../shared/api-names.ts';
import { VoleError } from '../../shared/errors.ts';
import type { Environment } from '../../shared/settings/resolve.ts';

/**
 * The values of `--secret NAME` by name, each from the variable of that name, by the rules of `vole secret set`.
 * Throws `VoleError`, `usage`, which says no value.
 */
export function lentSecrets(names: readonly string[], env: Environment): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, valueOf(name, env)]));
}

function valueOf(name: string, env: Environment): string {
  const parsed = secretNameSchema.safeParse(name);
  if (!parsed.success) {
    const why = parsed.error.issues[0]?.message ?? 'not allowed';
    const shown = name.replace(/=.*/s, '=...');
    throw refused(shown, `${why}; give its name alone: the value comes from the environment`);
  }
  const value = env[name];
  if (value === undefined) throw refused(name, `no variable ${name} in the environment: export it first`);
  const fault = value.includes('\ufffd')
    ? 'the value is no UTF-8 text'
    : secretValueFault(Buffer.from(value));
  if (fault !== null) throw refused(name, fault);
  return value;
}

function refused(name: string, why: string): VoleError {
  return new VoleError('usage', `--secret ${name}: ${why}`);
}
