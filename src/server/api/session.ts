import { v7 as uuidv7 } from 'uuid';
import { issueToken } from '../adapters/jwt.ts';
import type { ApiParts } from './parts.ts';

/**
 * A new token for a tenant who has proved to be one. Never dated before the instant from which tokens hold:
 * another node, whose clock is a little ahead, may have set that.
 */
export async function openSession(
  parts: ApiParts,
  tenant: { tenantId: string; tokensValidFromMs: number },
): Promise<{ token: string; expires_at: string }> {
  const issuedAtMs = Math.max(parts.nowMs(), Math.ceil(tenant.tokensValidFromMs));
  const subject = { tenantId: tenant.tenantId, tokenId: uuidv7() };
  const { token, expiresAt } = await issueToken(parts.jwtSecret, subject, issuedAtMs);
  return { token, expires_at: expiresAt };
}

/** The instant after now: a token issued in this very millisecond belongs to the sessions that end. */
export function endOfEarlierSessionsMs(parts: ApiParts): number {
  return parts.nowMs() + 1;
}
