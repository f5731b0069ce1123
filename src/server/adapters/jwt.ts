import { jwtVerify, SignJWT } from 'jose';

const ISSUER = 'gateway';
const AUDIENCE = 'gateway-api';
const TOKEN_LIFETIME_MS = 24 * 60 * 60 * 1000;

export interface TokenClaims {
  tenantId: string;
  tokenId: string;
  issuedAtMs: number;
  expiresAtMs: number;
}

/** Signed claims, and when they end. `iat` keeps its milliseconds: a password change ends what came before it. */
export async function issueToken(
  secret: Uint8Array,
  subject: { tenantId: string; tokenId: string },
  nowMs: number,
): Promise<{ token: string; expiresAt: string }> {
  const expiresAtSeconds = Math.floor((nowMs + TOKEN_LIFETIME_MS) / 1000);
  const token = await new SignJWT({ iat: nowMs / 1000 })
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuer(ISSUER)
    .setAudience(AUDIENCE)
    .setSubject(subject.tenantId)
    .setJti(subject.tokenId)
    .setExpirationTime(expiresAtSeconds)
    .sign(secret);
  return { token, expiresAt: new Date(expiresAtSeconds * 1000).toISOString() };
}

/** The claims of a token we signed and that has not expired, else null. The algorithm is pinned, not read. */
export async function readToken(
  secret: Uint8Array,
  token: string,
  nowMs: number,
): Promise<TokenClaims | null> {
  try {
    const { payload } = await jwtVerify(token, secret, {
      algorithms: ['HS256'],
      issuer: ISSUER,
      audience: AUDIENCE,
      currentDate: new Date(nowMs),
      requiredClaims: ['iat', 'exp', 'sub', 'jti'],
    });
    return {
      tenantId: payload.sub!,
      tokenId: payload.jti!,
      issuedAtMs: payload.iat! * 1000,
      expiresAtMs: payload.exp! * 1000,
    };
  } catch {
    return null;
  }
}
