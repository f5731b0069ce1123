import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { ERRORS, refuse } from '../../contract/errors.ts';
import type { Operation } from '../../contract/operation.ts';
import { DOCS_STYLE } from './docs-style.ts';
import { buildOpenApi, publicSchema, refusalsOf } from './openapi.ts';
import { sendRefusal } from './server.ts';

type Schema = Record<string, unknown> & { properties?: Record<string, Schema>; required?: string[] };

/** How deep the fields of an answer are told; deeper ones are in the OpenAPI document. */
const MAX_FIELD_DEPTH = 3;
const AUTH_LABELS: Record<Operation['auth'], string> = {
  none: 'no token',
  tenant: 'tenant token',
  operator: 'operator token',
};

/** `GET /docs` for people and `GET /v1/openapi.json` for programs, both made once from the contract. */
export function registerDocs(
  app: FastifyInstance,
  operations: Record<string, Operation>,
  version: string,
): void {
  const openApi = JSON.stringify(buildOpenApi(operations, version));
  const page = docsPage(operations, version);
  const styleHash = createHash('sha256').update(DOCS_STYLE).digest('base64');
  const policy = `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
  app.get('/v1/openapi.json', (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(openApi),
  );
  app.get('/docs', (_request, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', policy)
      .header('referrer-policy', 'no-referrer')
      .send(page),
  );
  for (const url of ['/docs', '/v1/openapi.json']) {
    app.route({
      method: ['POST', 'PUT', 'DELETE'],
      url,
      handler: (_request, reply) =>
        sendRefusal(reply.header('allow', 'GET, HEAD'), refuse('method_not_allowed')),
    });
  }
}

function docsPage(operations: Record<string, Operation>, version: string): string {
  const all = Object.entries(operations);
  const groups = [...new Set(all.map(([, operation]) => operation.tag))].map((tag) => ({
    tag,
    anchor: anchorOf(tag),
    rows: all.filter(([, operation]) => operation.tag === tag),
  }));
  const navigation = groups
    .map(({ tag, anchor, rows }) => {
      const links = rows.map(
        ([name, row]) =>
          `<li><a href="#${name}"><span class="verb ${row.method}">${row.method}</span>${shortPath(row.path)}</a></li>`,
      );
      return `<h2><a href="#${anchor}">${escapeHtml(tag)}</a></h2><ul>${links.join('')}</ul>`;
    })
    .join('');
  const sections = groups
    .map(
      ({ tag, anchor, rows }) =>
        `<section id="${anchor}"><h2>${escapeHtml(tag)}</h2>${rows.map(([name, row]) => operationHtml(name, row)).join('')}</section>`,
    )
    .join('');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Gateway API ${escapeHtml(version)}</title>
<style>${DOCS_STYLE}</style>
</head>
<body>
<nav aria-label="Operations"><p class="brand"><a href="#top">Gateway API</a> <small>${escapeHtml(version)}</small></p><p class="home"><a href="/">Open the dashboard</a></p>${navigation}</nav>
<main id="top">
${INTRODUCTION}
${sections}
</main>
</body>
</html>
`;
}

const INTRODUCTION = `<h1>Gateway API</h1>
<p>Everything the gateway can be asked, made from the table that also makes its routes. For programs:
<a href="/v1/openapi.json">/v1/openapi.json</a> (OpenAPI 3.1).</p>
<dl class="facts">
<dt>Authentication</dt><dd><code>Authorization: Bearer …</code> with the token of a log-in; it lasts 24 hours. Operator routes take the operator token of the deployment.</dd>
<dt>Money</dt><dd><code>*_microdollars</code> are exact integers (1 USD = 1,000,000); <code>*_usd</code> are decimal texts.</dd>
<dt>Time</dt><dd>RFC 3339 in UTC. <code>from</code> and <code>to</code> are whole UTC days, both inclusive.</dd>
<dt>Lists</dt><dd>Newest first. <code>limit</code> is 50 unless said otherwise, 500 at most; <code>offset</code> skips.</dd>
<dt>Errors</dt><dd><code>{"error": "code", "message": "sentence"}</code>. Every answer carries <code>X-Gateway-Request-Id</code>; a 429 carries <code>Retry-After</code>.</dd>
<dt>Unknown fields</dt><dd>are ignored and named in a <code>Warning</code> header.</dd>
</dl>
<section id="proxy"><h2>Sending calls through the proxy</h2>
<p>Point the provider’s own SDK at the proxy’s address and use a service key as its API key. What follows the prefix goes to the provider as it is.</p>
<pre tabindex="0" role="region" aria-label="A call through the proxy"><code>curl "$PROXY_URL/v1/proxy/prov_a/v1/chat/completions" \\
  -H "Authorization: Bearer $GATEWAY_KEY" -H "X-Gateway-Service: search" \\
  -d '{"model": "…", "messages": [{"role": "user", "content": "Hello"}]}'</code></pre>
<p>Providers: <code>prov_a</code> (<code>openai</code>), <code>prov_b</code> (<code>anthropic</code>), <code>prov_c</code> (<code>gemini</code>), <code>prov_d</code> (<code>deepseek</code>).
Attribution: <code>X-Gateway-Team</code>, <code>-Service</code>, <code>-User</code>, <code>-End-Customer</code>, <code>-Agent</code>, <code>-Tags</code>; none of them reaches the provider.</p>
</section>`;

function operationHtml(name: string, operation: Operation): string {
  const aliases = (operation.aliases ?? []).map((path) => `<code>${escapeHtml(path)}</code>`).join(', ');
  const answers =
    operation.streams === 'csv' ? ' or CSV' : operation.streams === 'sse' ? 'an event stream' : '';
  return `<article id="${name}">
<h3><span class="verb ${operation.method}">${operation.method}</span> <code>${escapeHtml(operation.path)}</code> <a class="anchor" href="#${name}" aria-label="Link to ${name}">#</a></h3>
<p>${escapeHtml(operation.summary)}.</p>
<p class="meta"><span>${AUTH_LABELS[operation.auth]}</span><span>answers ${operation.success}${operation.response ? ' JSON' : ''}${answers ? ` ${answers.trim()}` : ''}</span><span>operation <code>${name}</code></span>${aliases && `<span>also ${aliases}</span>`}</p>
${fieldsHtml('Query', operation.query)}${fieldsHtml('Body', operation.body)}${responseHtml(operation)}${refusalsHtml(operation)}
</article>`;
}

function fieldsHtml(title: string, schema: unknown): string {
  const object = publicSchema(schema) as Schema | undefined;
  const rows = Object.entries(object?.properties ?? {}).map(([name, field]) =>
    fieldRow(name, field, object?.required?.includes(name) ?? false),
  );
  if (rows.length === 0) return '';
  return `<h4>${title}</h4><div class="table"><table><thead><tr><th>Field</th><th>Type</th><th>Meaning</th></tr></thead><tbody>${rows.join('')}</tbody></table></div>`;
}

function fieldRow(name: string, field: Schema, required: boolean): string {
  const notes = [
    required ? '<strong>required</strong>' : '',
    field.default === undefined ? '' : `default <code>${escapeHtml(String(field.default))}</code>`,
    typeof field.description === 'string' ? escapeHtml(field.description) : '',
  ];
  return `<tr><td><code>${escapeHtml(name)}</code></td><td>${escapeHtml(typeOf(field))}</td><td>${notes.filter(Boolean).join('; ')}</td></tr>`;
}

function responseHtml(operation: Operation): string {
  if (!operation.response) return '';
  const rows = answerFields(publicSchema(operation.response) as Schema, '', 0);
  if (rows.length === 0) return '';
  const body = rows.map(([name, field]) => fieldRow(name, field, false)).join('');
  return `<details><summary>Answer</summary><div class="table"><table><thead><tr><th>Field</th><th>Type</th><th>Meaning</th></tr></thead><tbody>${body}</tbody></table></div></details>`;
}

/** The fields of an answer with those inside them, as `data[].id`. */
function answerFields(schema: Schema, path: string, depth: number): Array<[string, Schema]> {
  if (depth > MAX_FIELD_DEPTH) return [];
  if (schema.type === 'array') return answerFields(schema.items as Schema, `${path}[]`, depth + 1);
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]): Array<[string, Schema]> => {
    const inner = path === '' ? name : `${path}.${name}`;
    return [[inner, field], ...answerFields(field, inner, depth + 1)];
  });
}

function refusalsHtml(operation: Operation): string {
  const rows = refusalsOf(operation).map((cause) => {
    const row: { status: number; message: string; code?: string } = ERRORS[cause];
    return `<tr><td>${row.status}</td><td><code>${row.code ?? cause}</code></td><td>${escapeHtml(row.message)}</td></tr>`;
  });
  return `<details><summary>Errors</summary><div class="table"><table><thead><tr><th>Status</th><th>error</th><th>Cause</th></tr></thead><tbody>${rows.join('')}</tbody></table></div></details>`;
}

function typeOf(schema: Schema): string {
  if (Array.isArray(schema.enum)) return schema.enum.join(' | ');
  if (Array.isArray(schema.anyOf)) return schema.anyOf.map((part) => typeOf(part as Schema)).join(' or ');
  if (schema.type === 'array') return `array of ${typeOf(schema.items as Schema)}`;
  const base = typeof schema.type === 'string' ? schema.type : 'any';
  const bounds = [
    schema.format,
    schema.minimum === undefined ? undefined : `≥ ${schema.minimum}`,
    schema.maximum === undefined ? undefined : `≤ ${schema.maximum}`,
  ].filter((bound) => bound !== undefined);
  return bounds.length === 0 ? base : `${base} (${bounds.join(', ')})`;
}

function anchorOf(tag: string): string {
  return `tag-${tag.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`;
}

function shortPath(path: string): string {
  return escapeHtml(path.replace(/^\/v1/, ''));
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
