import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** The same place seen from src/ and from dist/. */
const BUILT = join(import.meta.dirname, '..', '..', '..', 'dist', 'dashboard');
const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.json': 'application/json; charset=utf-8',
};
/** Smallest first: what the build made beside each file. */
const ENCODINGS = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' },
] as const;
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "object-src 'none'",
].join('; ');
/** Paths that belong to programs: a wrong one is told so in JSON, never with a page. */
const PROGRAM_PATHS = /^\/(v1|docs|health|metrics|assets)(\/|$)/;

interface BuiltFile {
  type: string;
  immutable: boolean;
  plain: Buffer;
  encoded: Partial<Record<(typeof ENCODINGS)[number]['name'], Buffer>>;
}

/** The dashboard at `/`: its files from memory, and its one page for every address that the browser's router knows. */
export function registerDashboard(
  app: FastifyInstance,
  options: { proxyPort: number; version: string },
): void {
  const files = readBuiltFiles();
  const index = files.get('index.html');
  const page = index && fillPage(index.plain.toString(), options);
  files.delete('index.html');
  for (const [name, file] of files) app.get(`/${name}`, (request, reply) => sendFile(request, reply, file));
  app.get('/', (_request, reply) => sendPage(reply, page));
  // Routes of the browser's own: only a person's browser asks for a page of such a name.
  app.addHook('onRequest', async (request, reply) => {
    const path = request.url.split('?')[0]!;
    const isRoute = !request.is404 || PROGRAM_PATHS.test(path) || extname(path) !== '';
    if (isRoute || request.method !== 'GET') return undefined;
    if (!(request.headers.accept ?? '').includes('text/html')) return undefined;
    return sendPage(reply, page);
  });
}

function readBuiltFiles(): Map<string, BuiltFile> {
  const files = new Map<string, BuiltFile>();
  if (!existsSync(BUILT)) return files;
  for (const entry of readdirSync(BUILT, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    const type = TYPES[extname(entry.name)];
    if (!entry.isFile() || type === undefined) continue;
    const name = relative(BUILT, path).split(sep).join('/');
    const encoded: BuiltFile['encoded'] = {};
    for (const { name: encoding, suffix } of ENCODINGS) {
      if (existsSync(path + suffix)) encoded[encoding] = readFileSync(path + suffix);
    }
    files.set(name, { type, immutable: name.startsWith('assets/'), plain: readFileSync(path), encoded });
  }
  return files;
}

/** What the page cannot know by itself; read by it from its own meta elements. */
function fillPage(html: string, { proxyPort, version }: { proxyPort: number; version: string }): string {
  return html
    .replace('%PROXY_PORT%', String(proxyPort))
    .replace('%VERSION%', version.replaceAll(/[^\w.+-]/g, ''));
}

function sendFile(request: FastifyRequest, reply: FastifyReply, file: BuiltFile): FastifyReply {
  const accepted = String(request.headers['accept-encoding'] ?? '');
  const encoding = ENCODINGS.find(
    ({ name }) =>
      file.encoded[name] && new RegExp(`\\b${name}\\b(?!\\s*;\\s*q=0(\\.0*)?(,|$))`).test(accepted),
  );
  if (encoding) reply.header('content-encoding', encoding.name);
  return secure(reply)
    .header('vary', 'Accept-Encoding')
    .header('cache-control', file.immutable ? 'public, max-age=31536000, immutable' : 'no-cache')
    .type(file.type)
    .send(encoding ? file.encoded[encoding.name] : file.plain);
}

function sendPage(reply: FastifyReply, page: string | undefined): FastifyReply {
  secure(reply).type('text/html; charset=utf-8').header('cache-control', 'no-cache');
  if (page !== undefined) return reply.send(page);
  return reply
    .code(503)
    .send(
      '<!doctype html><html lang="en"><title>Gateway</title><p>The dashboard is not built. Run <code>npm run build</code> and start the server again. The API answers all the same: <a href="/docs">/docs</a>.</p></html>',
    );
}

function secure(reply: FastifyReply): FastifyReply {
  return reply
    .header('content-security-policy', POLICY)
    .header('referrer-policy', 'no-referrer')
    .header('x-frame-options', 'DENY')
    .header('cross-origin-opener-policy', 'same-origin')
    .header('permissions-policy', 'camera=(), geolocation=(), microphone=()');
}
