import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * The dashboard never holds its token: the browser does, in a cookie that no script can read. The cookie counts
 * only beside a header that another site's page cannot send without asking first (and is told no), and only
 * when the browser itself says that the call comes from our own pages.
 */
const COOKIE = 'gateway_session';
const DASHBOARD_HEADER = 'x-gateway-dashboard';
/** Tokens are about 300 bytes; a cookie far beyond that is not ours. */
const MAX_COOKIE_HEADER_BYTES = 16 * 1024;
/** After these the token is of no more use to anyone. */
const ENDING_OPERATIONS: ReadonlySet<string> = new Set(['logout', 'deleteAccount']);

function isDashboardCall(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site'];
  return headers[DASHBOARD_HEADER] === '1' && (site === undefined || site === 'same-origin');
}

/** What stands in for the Authorization header: itself, or the cookie of a dashboard call. */
export function authorizationOf(headers: IncomingHttpHeaders): string | undefined {
  if (headers.authorization !== undefined || !isDashboardCall(headers)) return headers.authorization;
  const cookies = headers.cookie ?? '';
  if (cookies.length > MAX_COOKIE_HEADER_BYTES) return undefined;
  const own = cookies
    .split(';')
    .map((cookie) => cookie.trim())
    .find((cookie) => cookie.startsWith(`${COOKIE}=`));
  return own && `Bearer ${own.slice(COOKIE.length + 1)}`;
}

/**
 * Takes the token out of an answer to the dashboard and puts it into the cookie instead; answers to every other
 * caller pass as they are.
 */
export function keepTokenInCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  operationName: string,
  answer: unknown,
): unknown {
  if (!isDashboardCall(request.headers)) return answer;
  if (ENDING_OPERATIONS.has(operationName)) reply.header('set-cookie', cookie(request, '', 0));
  const token = (answer as { token?: unknown } | null | undefined)?.token;
  if (typeof token !== 'string') return answer;
  reply.header('set-cookie', cookie(request, token, lifetimeSeconds(token)));
  const { token: _kept, ...shown } = answer as Record<string, unknown>;
  return shown;
}

function cookie(request: FastifyRequest, value: string, maxAgeSeconds: number): string {
  // Behind a proxy that ends TLS only the page's own origin says whether the browser speaks https.
  const secure = request.headers.origin?.startsWith('https://') ? '; Secure' : '';
  return `${COOKIE}=${value}; Path=/v1; HttpOnly; SameSite=Strict; Max-Age=${maxAgeSeconds}${secure}`;
}

/** The cookie ends with the token it holds. */
function lifetimeSeconds(token: string): number {
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {
    iat: number;
    exp: number;
  };
  return Math.floor(claims.exp - claims.iat);
}
