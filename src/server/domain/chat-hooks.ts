/** What a chat hook's address is sealed for; it opens for nothing else. */
export const CHAT_WEBHOOK_PURPOSE = 'chat_webhook';

const SHOWN_CHARACTERS = 40;
/** What a server might decode into a step out of the prefix, after our own parser has looked. */
const HIDDEN_STEP = /%2e|%2f|%5c|\\|;/i;

/**
 * The address in its normal form when it lies under the prefix: same origin, and the prefix's path followed
 * by something. Compared as parsed addresses, because "https://hooks.example.com.evil/" starts with the same
 * letters. Null for every other.
 */
export function parseChatHook(text: string, prefix: string): string | null {
  if (!/^[\x21-\x7e]+$/.test(text) || !URL.canParse(text)) return null;
  const url = new URL(text);
  const base = new URL(prefix);
  if (url.origin !== base.origin || url.username || url.password || url.hash) return null;
  const basePath = base.pathname.endsWith('/') ? base.pathname : `${base.pathname}/`;
  if (!url.pathname.startsWith(basePath) || url.pathname.length === basePath.length) return null;
  return HIDDEN_STEP.test(text.slice(0, pathEnd(text))) ? null : url.href;
}

function pathEnd(text: string): number {
  const query = text.indexOf('?');
  return query === -1 ? text.length : query;
}

/** Enough to recognize the hook by, not enough to post to it. */
export function maskChatHook(url: string): string {
  return `${url.slice(0, SHOWN_CHARACTERS)}...`;
}
