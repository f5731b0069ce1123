import { createHash, timingSafeEqual } from 'node:crypto';
import { type Refusal, refuse } from '../../contract/errors.ts';
import type { Operation } from '../../contract/operation.ts';
import { readToken } from '../adapters/jwt.ts';
import type { TenantCaller } from '../api/handler.ts';
import type { Database } from '../store/database.ts';
import { findTokenStanding } from '../store/tokens.ts';

export interface CallerParts {
  database: Database;
  jwtSecret: Uint8Array;
  operatorToken: string;
  nowMs: () => number;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Proves who is calling, as far as the operation asks for it. */
export async function proveCaller(
  auth: Operation['auth'],
  authorization: string | undefined,
  parts: CallerParts,
): Promise<TenantCaller | { kind: 'operator' } | { kind: 'anyone' } | Refusal> {
  if (auth === 'none') return { kind: 'anyone' };
  const token = /^Bearer +([^\s]+) *$/i.exec(authorization ?? '')?.[1];
  if (auth === 'operator') {
    if (token && sameSecret(token, parts.operatorToken)) return { kind: 'operator' };
    return refuse('unauthorized');
  }
  if (!token) return refuse('missing_auth');
  return proveTenant(token, parts);
}

async function proveTenant(token: string, parts: CallerParts): Promise<TenantCaller | Refusal> {
  const claims = await readToken(parts.jwtSecret, token, parts.nowMs());
  if (!claims || !UUID.test(claims.tenantId) || !UUID.test(claims.tokenId)) return refuse('invalid_token');
  const standing = await parts.database.asTenant(claims.tenantId, (db) =>
    findTokenStanding(db, claims.tenantId, claims.tokenId),
  );
  if (!standing || standing.revoked || standing.status !== 'active') return refuse('invalid_token');
  if (claims.issuedAtMs < standing.tokens_valid_from_ms) return refuse('invalid_token');
  return {
    kind: 'tenant',
    tenantId: claims.tenantId,
    email: standing.email,
    tokenId: claims.tokenId,
    tokenExpiresAtMs: claims.expiresAtMs,
  };
}

/** Compared by hash, so that neither content nor length shows in the time it takes. */
export function sameSecret(given: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}
