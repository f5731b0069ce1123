import { PROVIDERS, type Provider } from '../../contract/providers.ts';

/** Where prices are read: a public catalogue of many providers, or one provider's own price page. */
export type PriceSource =
  | { kind: 'models_dev' | 'litellm'; url: string }
  | { kind: 'html'; provider: Provider; url: string };

const SOURCE_TEXT = /^(?:(models_dev|litellm)|html:(prov_[a-d]))=(\S+)$/;

/** `models_dev=https://…`, `litellm=https://…` or `html:prov_a=https://…`; null for anything else. */
export function parsePriceSource(text: string): PriceSource | null {
  const match = SOURCE_TEXT.exec(text);
  if (!match) return null;
  const [, catalogue, provider, url] = match;
  if (!isFetchable(url!)) return null;
  if (catalogue) return { kind: catalogue as 'models_dev' | 'litellm', url: url! };
  return { kind: 'html', provider: PROVIDERS.find((name) => name === provider)!, url: url! };
}

/** As it was configured; the name a source goes by everywhere. */
export function sourceName(source: PriceSource): string {
  return source.kind === 'html' ? `html:${source.provider}=${source.url}` : `${source.kind}=${source.url}`;
}

/** A price decides about money: it comes over an encrypted line, or from this very machine. */
export function isFetchable(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname, username, password } = new URL(url);
  if (username !== '' || password !== '') return false;
  const loopback = hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
  return protocol === 'https:' || (protocol === 'http:' && loopback);
}
