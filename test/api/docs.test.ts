import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ERRORS } from '../../src/contract/errors.ts';
import { operations } from '../../src/contract/index.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { type Gateway, startGateway } from '../harness.ts';

type Json = Record<string, unknown>;
type Described = Json & {
  operationId: string;
  parameters?: Array<Json & { name: string; in: string; schema: Json }>;
  requestBody?: { content: Record<string, { schema: Json }> };
  responses: Record<string, { description: string; content?: Record<string, Json> }>;
  security: unknown[];
};

const ALL = Object.entries(operations) as Array<[string, Operation]>;

let gw: Gateway;
let document: Json & { paths: Record<string, Record<string, Described>>; components: Json };
let page: { status: number; headers: Headers; text: string };

beforeAll(async () => {
  gw = await startGateway();
  const answer = await gw.call('GET', '/v1/openapi.json');
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  document = answer.json;
  page = await gw.call('GET', '/docs');
});
afterAll(() => gw.stop());

/** Every value in the document with its path. */
function* walk(value: unknown, path = '#'): Generator<[string, unknown]> {
  yield [path, value];
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) yield* walk(inner, `${path}/${key}`);
}

describe('the OpenAPI document', () => {
  test('is version 3.1 of the running program', () => {
    expect(document).toMatchObject({ openapi: '3.1.0', info: { version: '0.0.0-test' } });
  });

  test.each(ALL)('has %s under its path and its aliases, and nothing else does', (name, operation) => {
    for (const path of [operation.path, ...(operation.aliases ?? [])]) {
      const described = document.paths[path]?.[operation.method.toLowerCase()];
      expect(described?.summary).toBe(operation.summary);
      expect(described?.responses[operation.success]).toBeDefined();
    }
    expect(document.paths[operation.path]![operation.method.toLowerCase()]!.operationId).toBe(name);
  });

  test('describes exactly the routes of the contract', () => {
    const described = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const contract = ALL.flatMap(([, operation]) =>
      [operation.path, ...(operation.aliases ?? [])].map((path) => `${operation.method} ${path}`),
    );
    expect(described.sort()).toEqual(contract.sort());
  });

  test('names every operation once', () => {
    const ids = Object.values(document.paths).flatMap((item) =>
      Object.values(item).map((described) => described.operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('declares every parameter of a path, and every query field', () => {
    for (const [, operation] of ALL) {
      const described = document.paths[operation.path]![operation.method.toLowerCase()]!;
      const declared = (place: string) =>
        (described.parameters ?? []).filter((row) => row.in === place).map((row) => row.name);
      expect(declared('path')).toEqual([...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]));
      expect(declared('query')).toEqual(Object.keys(operation.query?.properties ?? {}));
    }
  });

  test('points only at what is there, and is plain JSON Schema', () => {
    const places = new Set([...walk(document)].map(([path]) => path));
    for (const [path, value] of walk(document)) {
      const key = path.slice(path.lastIndexOf('/') + 1);
      if (key === '$ref') expect(places).toContain(value);
      expect(key).not.toMatch(/^(x-|~)/);
      if (key === 'enum') expect(Array.isArray(value)).toBe(true);
    }
  });

  test('says which refusals to expect, with their codes', () => {
    const signup = document.paths['/v1/auth/signup']!.post!;
    expect(signup.responses[400]!.description).toContain('email_taken');
    expect(signup.responses[400]!.description).toContain('password_too_short');
    expect(Object.keys(signup.responses).sort()).toEqual(['201', '400', '429', '500']);
    const request = document.paths['/v1/usage/requests/{id}']!.get!;
    expect(request.responses[401]!.description).toContain('missing_auth');
    expect(request.responses[404]!.description).toContain(ERRORS.not_found.message);
    expect(request.security).toEqual([{ tenant: [] }]);
    expect(signup.security).toEqual([]);
  });

  test('offers CSV where the contract does', () => {
    for (const [, operation] of ALL) {
      const content =
        document.paths[operation.path]![operation.method.toLowerCase()]!.responses[operation.success]!
          .content;
      expect(Object.hasOwn(content ?? {}, 'text/csv')).toBe(operation.streams === 'csv');
    }
  });
});

describe('the docs page', () => {
  test('shows every route', () => {
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    for (const [name, operation] of ALL) {
      expect(page.text).toContain(`<article id="${name}">`);
      for (const path of [operation.path, ...(operation.aliases ?? [])]) {
        expect(page.text).toContain(`<code>${path}</code>`);
      }
    }
  });

  test('runs no script, asks nobody else for anything, and may not be framed', () => {
    const policy = page.headers.get('content-security-policy')!;
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
    expect(page.text).not.toMatch(/<script|<link|<img|\son\w+=|style="|(?:src|href)="https?:/i);
  });

  test('has the one style its policy allows', () => {
    const style = /<style>([\s\S]*?)<\/style>/.exec(page.text)![1]!;
    const hash = createHash('sha256').update(style).digest('base64');
    expect(page.headers.get('content-security-policy')).toContain(`'sha256-${hash}'`);
    expect(style).toContain('prefers-color-scheme: dark');
  });

  test('links only to places it has', () => {
    for (const [, anchor] of page.text.matchAll(/href="#([^"]+)"/g)) {
      expect(page.text).toContain(`id="${anchor}"`);
    }
  });
});

test('both take GET alone', async () => {
  for (const path of ['/docs', '/v1/openapi.json']) {
    const { status, headers, json } = await gw.call('POST', path);
    expect([status, headers.get('allow'), json.error]).toEqual([405, 'GET, HEAD', 'method_not_allowed']);
  }
});
