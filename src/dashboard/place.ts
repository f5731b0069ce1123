/** What the server wrote into the page. */
function meta(name: string): string {
  return document.querySelector(`meta[name="${name}"]`)?.getAttribute('content') ?? '';
}

export const VERSION = meta('gateway-version');

/** The proxy listens on the same host as this page, on a port of its own. */
export function proxyUrl(): string {
  return `${location.protocol}//${location.hostname}:${meta('gateway-proxy-port')}/v1/proxy`;
}
