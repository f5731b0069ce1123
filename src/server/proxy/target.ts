import { PROVIDER_PATH_NAMES, type Provider } from '../../contract/providers.ts';

const PREFIX = '/v1/proxy/';
const MAX_DECODINGS = 4;

export type Target =
  | { kind: 'provider'; provider: Provider; path: string; query: string }
  | { kind: 'not_found' }
  | { kind: 'invalid_path' };

/**
 * Which provider a request is for and what goes to it. The path is kept byte for byte, because a provider may
 * give meaning to any spelling; what could leave the provider's own base in some reader's eyes is refused.
 */
export function readTarget(url: string): Target {
  if (!url.startsWith('/')) return { kind: 'invalid_path' };
  const question = url.indexOf('?');
  const whole = question === -1 ? url : url.slice(0, question);
  if (!whole.startsWith(PREFIX)) return { kind: 'not_found' };
  const slash = whole.indexOf('/', PREFIX.length);
  const name = slash === -1 ? whole.slice(PREFIX.length) : whole.slice(PREFIX.length, slash);
  const provider = Object.hasOwn(PROVIDER_PATH_NAMES, name) ? PROVIDER_PATH_NAMES[name] : undefined;
  if (!provider) return { kind: 'not_found' };
  const path = slash === -1 ? '' : whole.slice(slash);
  if (leavesBase(path)) return { kind: 'invalid_path' };
  return { kind: 'provider', provider, path, query: question === -1 ? '' : url.slice(question + 1) };
}

/** Judged in every spelling a server behind us might decode it to, however often it decodes. */
function leavesBase(path: string): boolean {
  if (path.startsWith('//') || path.includes('#')) return true;
  let text = path;
  for (let round = 0; round < MAX_DECODINGS; round += 1) {
    if (/[\\\p{Cc}]/u.test(text)) return true;
    if (text.split('/').some((segment) => /^\.\.(;|$)/.test(segment))) return true;
    const decoded = text.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    if (decoded === text) return false;
    text = decoded;
  }
  return true;
}
