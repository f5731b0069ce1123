import { readConfig } from './config.ts';
import { age } from './format.ts';
import type { Session } from './session.ts';

/** A token lives a day; whoever works with it in its second half gets a new one and is never asked again. */
const RENEW_BEFORE_MS = 12 * 3_600_000;

/** Renews the login quietly. What goes wrong here is no concern of the command that has just succeeded. */
export async function keepLogin(session: Session): Promise<void> {
  const { token, api_url } = session.config;
  // A token of one gateway is nothing to another that --api-url names for once.
  if (token === null || session.apiUrl !== api_url) return;
  const expiry = expiryOf(token);
  const leftMs = expiry === null ? 0 : Date.parse(expiry) - session.host.nowMs();
  if (leftMs <= 0 || leftMs > RENEW_BEFORE_MS) return;
  const answer = await session.client.call('refreshToken', { signal: session.host.signal }).catch(() => null);
  // The command itself may have logged out or in.
  if (answer?.ok && readConfig(session.configFile).token === token) {
    session.changeConfig({ token: answer.data.token });
  }
}

/** What only this side can tell of a token the server refuses: that its time is up. */
export function expiredLogin(token: string | null, nowMs: number): string | null {
  const expiry = token === null ? null : expiryOf(token);
  if (expiry === null || Date.parse(expiry) > nowMs) return null;
  return `Your login expired ${age(expiry, nowMs)}.`;
}

/** Read, not trusted: the server alone says whether a token is good. */
export function expiryOf(token: string): string | null {
  try {
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
    return typeof claims.exp === 'number' ? new Date(claims.exp * 1_000).toISOString() : null;
  } catch {
    return null;
  }
}
