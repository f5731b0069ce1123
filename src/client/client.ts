import { type OperationName, operations } from '../contract/index.ts';
import type { BodyOf, Operation, QueryOf, ResponseOf } from '../contract/operation.ts';

type Operations = typeof operations;

type ParamNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamNames<Rest>
  : never;

/** What a call needs: path parameters and a body exactly where the operation has them. */
export type CallInput<O extends Operation> = {
  query?: QueryOf<O>;
  signal?: AbortSignal;
} & ([ParamNames<O['path']>] extends [never] ? unknown : { params: Record<ParamNames<O['path']>, string> }) &
  ([BodyOf<O>] extends [undefined] ? unknown : { body: BodyOf<O> });

type CallArguments<O extends Operation> =
  Record<never, never> extends CallInput<O> ? [input?: CallInput<O>] : [input: CallInput<O>];

/** The server said no: a value, because the caller has to show it or act on it. */
export interface Refused {
  ok: false;
  status: number;
  /** The machine's code and the sentence for people. */
  error: string;
  message: string;
  /** All the server said, such as `budget_id` beside a refused budget. */
  body: Record<string, unknown>;
  retryAfterSeconds: number | null;
  /** Finds this call in the server's log. */
  requestId: string | null;
}

export type CallResult<O extends Operation> =
  | { ok: true; data: ResponseOf<O>; warnings: string[]; requestId: string | null }
  | Refused;

export type CsvResult =
  | { ok: true; filename: string; bytes: ReadableStream<Uint8Array>; requestId: string | null }
  | Refused;

export type CsvOperationName = {
  [Name in OperationName]: Operations[Name] extends { streams: 'csv' } ? Name : never;
}[OperationName];

/** No answer that means anything: the server is away, or something else answers in its place. */
export class ClientFault extends Error {
  override readonly name = 'ClientFault';
}

export interface ClientOptions {
  baseUrl: string;
  token?: string | undefined;
  /** Another fetch, such as one that goes through a proxy. */
  fetch?: typeof fetch;
}

export interface Client {
  call<Name extends OperationName>(
    name: Name,
    ...input: CallArguments<Operations[Name]>
  ): Promise<CallResult<Operations[Name]>>;
  /** The same data as a file; the bytes come as the server sends them. */
  callCsv<Name extends CsvOperationName>(
    name: Name,
    ...input: CallArguments<Operations[Name]>
  ): Promise<CsvResult>;
}

interface AnyInput {
  params?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: unknown;
  signal?: AbortSignal;
}

/** Every operation of the contract as a typed call. Runs in Node and in the browser. */
export function openClient(options: ClientOptions): Client {
  const base = options.baseUrl.replace(/\/+$/, '');
  const send = options.fetch ?? fetch;

  async function request(name: OperationName, input: AnyInput, accept: string): Promise<Response> {
    const operation: Operation = operations[name];
    const url = base + pathOf(operation.path, input.params ?? {}) + queryOf(input.query ?? {});
    const headers: Record<string, string> = { accept };
    if (options.token !== undefined && operation.auth !== 'none') {
      headers.authorization = `Bearer ${options.token}`;
    }
    const init: RequestInit = { method: operation.method, headers, redirect: 'error' };
    if (input.signal) init.signal = input.signal;
    if (operation.body) {
      headers['content-type'] = 'application/json';
      init.body = JSON.stringify(input.body ?? {});
    }
    try {
      return await send(url, init);
    } catch (error) {
      if (input.signal?.aborted) throw error;
      throw new ClientFault(`cannot reach ${base}: ${reasonOf(error)}`, { cause: error });
    }
  }

  return {
    async call(name, ...[input = {}]) {
      const response = await request(name, input as AnyInput, 'application/json');
      if (!response.ok) return readRefusal(response, base);
      const data = response.status === 204 ? undefined : await readJson(response, base);
      return {
        ok: true,
        data: data as ResponseOf<Operations[typeof name]>,
        warnings: warningsOf(response),
        requestId: response.headers.get('x-gateway-request-id'),
      };
    },

    async callCsv(name, ...[input = {}]) {
      const given = input as AnyInput;
      const asked = { ...given, query: { ...given.query, format: 'csv' } };
      const response = await request(name, asked, 'text/csv');
      if (!response.ok) return readRefusal(response, base);
      if (!response.body || !response.headers.get('content-type')?.startsWith('text/csv')) {
        throw new ClientFault(`${base} answered with something that is not a CSV file`);
      }
      const disposition = response.headers.get('content-disposition') ?? '';
      return {
        ok: true,
        filename: /filename="([^"/\\]+)"/.exec(disposition)?.[1] ?? `${name}.csv`,
        bytes: response.body,
        requestId: response.headers.get('x-gateway-request-id'),
      };
    },
  };
}

function pathOf(path: string, params: Record<string, string>): string {
  return path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => {
    const value = params[name];
    // An empty or dotted segment is removed by every URL parser, and the call would go to another address.
    if (!value || value === '.' || value === '..') {
      throw new ClientFault(`"${value ?? ''}" cannot be sent as ${name}`);
    }
    return encodeURIComponent(value);
  });
}

function queryOf(query: Record<string, unknown>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) search.set(name, String(value));
  }
  return search.size === 0 ? '' : `?${search}`;
}

async function readJson(response: Response, base: string): Promise<unknown> {
  try {
    return await response.json();
  } catch (error) {
    throw new ClientFault(
      `${base} answered ${response.status} with something that is not JSON; is it a gateway?`,
      { cause: error },
    );
  }
}

async function readRefusal(response: Response, base: string): Promise<Refused> {
  const body = await readJson(response, base);
  const said = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  if (typeof said.error !== 'string' || typeof said.message !== 'string') {
    throw new ClientFault(`${base} answered ${response.status} without saying why; is it a gateway?`);
  }
  const retryAfter = response.headers.get('retry-after');
  return {
    ok: false,
    status: response.status,
    error: said.error,
    message: said.message,
    body: said,
    retryAfterSeconds: retryAfter !== null && /^\d+$/.test(retryAfter) ? Number(retryAfter) : null,
    requestId: response.headers.get('x-gateway-request-id'),
  };
}

function warningsOf(response: Response): string[] {
  const header = response.headers.get('warning') ?? '';
  return [...header.matchAll(/299 \S+ "([^"]*)"/g)].map((match) => match[1]!);
}

/** What a broken connection is called by the system, and what by people. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused; nothing listens there',
  ECONNRESET: 'the connection was cut',
  ENOTFOUND: 'there is no host of that name',
  EAI_AGAIN: 'the name cannot be looked up; is there a network?',
  ENETUNREACH: 'there is no network to it',
  EHOSTUNREACH: 'there is no way to that host',
  ETIMEDOUT: 'it did not answer in time',
  UND_ERR_CONNECT_TIMEOUT: 'it did not answer in time',
  UND_ERR_SOCKET: 'the connection was cut',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak https',
  EPROTO: 'it does not speak https',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not trusted',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
};

/** fetch says only "fetch failed" and keeps what happened in its cause; a host with two addresses, one deeper. */
export function reasonOf(error: unknown): string {
  const cause = (error as { cause?: unknown }).cause ?? error;
  if (!(cause instanceof Error)) return String(cause);
  const { code, errors } = cause as { code?: string; errors?: unknown[] };
  if (code === undefined && errors?.[0] !== undefined) return reasonOf(errors[0]);
  return REASONS[code ?? ''] ?? (cause.message.split('\n')[0] || cause.name);
}
