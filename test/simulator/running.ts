import http from 'node:http';
import { afterAll, afterEach, expect } from 'vitest';
import type { Provider } from '../../src/contract/providers.ts';
import { startSimulator } from '../../src/simulator/index.ts';

/** Each test file that imports this runs against a simulator of its own. */
export const simulator = await startSimulator();

afterEach(() => {
  simulator.release();
  simulator.reset();
});

afterAll(() => simulator.close());

interface Answer {
  status: number;
  headers: http.IncomingHttpHeaders;
  bytes: Buffer;
  text: string;
  trailers: NodeJS.Dict<string>;
  hints: number[];
}

export interface Send {
  method?: string;
  headers?: Record<string, string>;
  body?: unknown;
  /** Called with everything read so far; true hangs up. */
  leaveWhen?: (text: string) => boolean;
}

const KEYS = { authorization: 'Bearer sk-test', 'x-api-key': 'sk-ant', 'x-goog-api-key': 'AIza' };
export const CHAT = { model: 'gpt-4o', messages: [{ role: 'user', content: 'twelve bytes' }] };
export const MESSAGE = { model: 'claude-sonnet-4-5', max_tokens: 100, messages: CHAT.messages };
export const CONTENT = { contents: [{ role: 'user', parts: [{ text: 'twelve bytes' }] }] };
export const STREAM_USAGE = { stream: true, stream_options: { include_usage: true } };

/** node:http and not fetch, because fetch hides encodings, trailers and informational answers. */
export function send(provider: Provider, path: string, options: Send = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const body = options.body === undefined ? undefined : JSON.stringify(options.body);
    const headers = {
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
      ...KEYS,
      ...options.headers,
    };
    const method = options.method ?? (body === undefined ? 'GET' : 'POST');
    const hints: number[] = [];
    const request = http.request(
      simulator.providerUrl(provider) + path,
      { method, headers, agent: false },
      (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => {
          parts.push(part);
          if (options.leaveWhen?.(Buffer.concat(parts).toString())) request.destroy();
        });
        response.on('error', reject);
        response.on('end', () => {
          const bytes = Buffer.concat(parts);
          const status = response.statusCode ?? 0;
          const { trailers } = response;
          resolve({ status, headers: response.headers, bytes, text: bytes.toString(), trailers, hints });
        });
      },
    );
    request.on('information', (information) => hints.push(information.statusCode));
    request.on('error', reject);
    request.end(body);
  });
}

export async function sendJson(
  provider: Provider,
  path: string,
  body?: unknown,
): Promise<Record<string, unknown>> {
  return JSON.parse((await send(provider, path, { body })).text);
}

interface Event {
  name: string | null;
  data: Record<string, unknown>;
}

export function events(text: string): Event[] {
  const blocks = text.split(/\r?\n\r?\n/).filter((block) => block.includes('data: {'));
  return blocks.map((block) => ({
    name: /^event: (.*)$/m.exec(block)?.[1] ?? null,
    data: JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? '{}'),
  }));
}

export function onlyCall() {
  const calls = simulator.calls();
  expect(calls).toHaveLength(1);
  return calls[0]!;
}
