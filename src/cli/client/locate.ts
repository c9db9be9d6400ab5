import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { serverFileSchema } from '../../shared/api.ts';
import { oneLine, VoleError } from '../../shared/errors.ts';
import type { Settings } from '../../shared/settings/types.ts';

/** Where a server is reached and as whom. */
export interface Location {
  /** Without a slash at its end. */
  readonly url: string;
  readonly token: string | null;
}

/**
 * Finds the server anew each time it is called: one that was started again may have another port.
 * Null where no server runs on the data directory.
 */
export type Locate = () => Promise<Location | null>;

/** From `--url` where it is given, else from the data directory. */
export function locator(settings: Settings<'client'>): Locate {
  const { url, data, tokenFile } = settings;
  if (url !== null) {
    const base = checkedUrl(url);
    return async () => ({ url: base, token: tokenFile === null ? null : await tokenFrom(tokenFile) });
  }
  if (data !== null) return () => locationIn(data);
  throw new VoleError(
    'usage',
    'which server? give --data DIR on its machine, or --url URL and --token-file FILE (or VOLE_DATA, VOLE_URL)',
  );
}

export function checkedUrl(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch (error) {
    throw new VoleError('usage', `--url: '${text}' is no URL; give one such as http://127.0.0.1:8080`, {
      cause: error,
    });
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new VoleError('usage', `--url: '${text}' is not allowed; use http:// or https://`);
  if (url.username !== '' || url.search !== '' || url.hash !== '')
    throw new VoleError('usage', '--url: give the address alone, and the token by --token-file');
  return url.href.replace(/\/+$/, '');
}

async function tokenFrom(file: string): Promise<string> {
  let token: string;
  try {
    token = (await readFile(file, 'utf8')).trim();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'not-found' : 'io-error';
    throw new VoleError(code, `cannot read --token-file ${file}: ${oneLine(error)}`, { cause: error });
  }
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new VoleError('usage', `--token-file ${file} holds no token: expected one word`);
  return token;
}

async function locationIn(data: string): Promise<Location | null> {
  const file = path.join(data, 'server.json');
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new VoleError('io-error', `cannot read ${file}: ${oneLine(error)}`, { cause: error });
  }
  try {
    const { http, token } = serverFileSchema.parse(JSON.parse(text));
    return { url: http, token };
  } catch (error) {
    throw new VoleError('io-error', `${file} is damaged: start the server again`, { cause: error });
  }
}
