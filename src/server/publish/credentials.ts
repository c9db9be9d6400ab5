/** The forge's own site, from its API's address. */
function isOwnSite(cloneUrl: URL, apiUrl: URL): boolean {
  if (cloneUrl.origin === apiUrl.origin) return true;
  return apiUrl.origin === 'https://api.github.com' && cloneUrl.origin === 'https://github.com';
}

/**
 * The environment by which one git has the forge's token: not in its arguments, in no file, and for no other
 * site. Empty for a URL that is not the forge's own over HTTP: there git finds its keys as it can.
 */
export function pushEnv(cloneUrl: string, apiUrl: string, token: string): Readonly<Record<string, string>> {
  if (!/^https?:\/\//i.test(cloneUrl) || !URL.canParse(cloneUrl) || !URL.canParse(apiUrl)) return {};
  const url = new URL(cloneUrl);
  if (!isOwnSite(url, new URL(apiUrl))) return {};
  const settings: readonly (readonly [string, string])[] = [
    [`http.${url.origin}/.extraHeader`, `Authorization: Basic ${basicOf(token)}`],
    // to wherever it would lead, the header would go along
    ['http.followRedirects', 'false'],
    // nobody else's, and none that would keep what it is told
    ['credential.helper', ''],
  ];
  const entries = settings.flatMap(([key, value], at) => [
    [`GIT_CONFIG_KEY_${at}`, key],
    [`GIT_CONFIG_VALUE_${at}`, value],
  ]);
  return {
    ...(Object.fromEntries(entries) as Record<string, string>),
    GIT_CONFIG_COUNT: `${settings.length}`,
  };
}

/** All forges take a token in the place of the password, and look at no name. */
function basicOf(token: string): string {
  return Buffer.from(`x-access-token:${token}`).toString('base64');
}

/** Takes the token out of what git or a forge said, in both of its forms. */
export function withoutToken(text: string, token: string): string {
  return text.replaceAll(token, '***').replaceAll(basicOf(token), '***');
}
