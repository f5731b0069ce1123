import { PROVIDER_PATH_NAMES, type Provider } from '../../contract/providers.ts';

const PREFIX = '/v1/proxy/';
const MAX_DECODINGS = 4;
/** A request target is visible characters; `#` has no place in one, and readers differ on what it would mean. */
const NOT_IN_A_TARGET = /[^\x21-\x7e\x80-\xff]|#/;
/** The bytes with which UTF-8 spells a character longer than it may: lenient decoders read `..` out of them. */
const OVERLONG = /[\xc0\xc1]|\xe0[\x80-\x9f]|\xf0[\x80-\x8f]/;

export type Target =
  | { kind: 'provider'; provider: Provider; path: string; query: string }
  | { kind: 'not_found' }
  | { kind: 'invalid_path' };

/** Applications call few addresses; judging one anew for every call would be for nothing. */
const MAX_REMEMBERED = 1_000;
const MAX_REMEMBERED_LENGTH = 200;
const remembered = new Map<string, Target>();

/** A query may hold a key, and is nothing to remember. */
export function readTarget(url: string): Target {
  const known = remembered.get(url);
  if (known) return known;
  const target = judgeTarget(url);
  if (url.length <= MAX_REMEMBERED_LENGTH && !url.includes('?')) {
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    remembered.set(url, target);
  }
  return target;
}

/**
 * Which provider a request is for and what goes to it. The path is kept byte for byte, because a provider may
 * give meaning to any spelling; what could leave the provider's own base in some reader's eyes is refused.
 */
function judgeTarget(url: string): Target {
  if (!url.startsWith('/') || NOT_IN_A_TARGET.test(url)) return { kind: 'invalid_path' };
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
  let text = path;
  for (let round = 0; round < MAX_DECODINGS; round += 1) {
    if (text.startsWith('//') || text.includes('\\') || hasControlCharacter(text)) return true;
    if (text.split('/').some((segment) => /^\.\.(;|$)/.test(segment))) return true;
    const decoded = decodedOnce(text);
    if (decoded === text) return false;
    if (OVERLONG.test(decoded)) return true;
    text = decoded;
  }
  return true;
}

/** ASCII ones only: the bytes 80 to 9f stand inside ordinary letters of UTF-8. */
function hasControlCharacter(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code === 0x7f) return true;
  }
  return false;
}

function decodedOnce(text: string): string {
  if (!text.includes('%')) return text;
  return text.replaceAll(/%(?:u00)?([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}
