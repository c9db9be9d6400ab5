import { VoleError } from '../../shared/errors.ts';

/** Parses `ssh://ACCOUNT@HOST:PORT`; the port is 2222 where it is left out. */
export function parseServerUrl(text: string): { account: string; host: string; port: number } {
  const fault = new VoleError('usage', `--server: '${text}' is not allowed; use ssh://ACCOUNT@HOST:PORT`);
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw fault;
  }
  if (url.protocol !== 'ssh:' || !url.username || !url.hostname) throw fault;
  if (url.password || (url.pathname && url.pathname !== '/') || url.search || url.hash) throw fault;
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return { account: decodeURIComponent(url.username), host, port: url.port ? Number(url.port) : 2222 };
}
