import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { join } from 'node:path';
import type { Gateway } from '../harness.ts';

const PROGRAM = join(import.meta.dirname, '..', '..', 'dist', 'server', 'main.js');

export interface Program {
  child: ChildProcess;
  proxyUrl: string;
  /** Everything it wrote to its log. */
  log(): string;
  /** The exit code, once it has ended; null for a kill. */
  ended: Promise<number | null>;
  kill(): Promise<void>;
}

/** The built program as a process of its own, on the database and with the secrets of a gateway in this one. */
export async function startProgram(
  gateway: Gateway,
  dataDir: string,
  env: Record<string, string> = {},
): Promise<Program> {
  const upstreams = (['a', 'b', 'c', 'd'] as const).map((letter) => [
    `GATEWAY_PROV_${letter.toUpperCase()}_URL`,
    gateway.simulator.providerUrl(`prov_${letter}`),
  ]);
  const child = spawn(process.execPath, [PROGRAM], {
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: gateway.databaseUrl,
      ...gateway.secrets,
      ...Object.fromEntries(upstreams),
      GATEWAY_DATA_DIR: dataDir,
      GATEWAY_ROLE: 'proxy',
      GATEWAY_PORT: '0',
      GATEWAY_PROXY_PORT: '0',
      GATEWAY_LOG_LEVEL: 'warn',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, log] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    log += chunk.toString();
  });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  const failed = ended.then((code) => {
    throw new Error(`the program ended with ${code} before it was ready: ${log}${stdout}`);
  });
  failed.catch(() => {});
  const ready = async () => {
    for (;;) {
      const found = /proxy +(http:\S+)\/v1\/proxy/.exec(stdout);
      if (found) return found[1]!;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const proxyUrl = await Promise.race([ready(), failed]);
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  return { child, proxyUrl, log: () => log + stdout, ended, kill };
}

export interface Seen {
  status: number;
  requestId: string | null;
  /** The client saw the response to its end. */
  complete: boolean;
  text: string;
}

/** A client that takes whatever comes and says how far it got. */
export function send(
  url: string,
  options: { key: string; body: unknown; headers?: Record<string, string>; agent?: http.Agent },
): Promise<Seen> {
  const seen: Seen = { status: 0, requestId: null, complete: false, text: '' };
  return new Promise((resolve) => {
    const request = http.request(
      url,
      {
        method: 'POST',
        headers: {
          authorization: `Bearer ${options.key}`,
          'content-type': 'application/json',
          ...options.headers,
        },
        ...(options.agent && { agent: options.agent }),
      },
      (response) => {
        seen.status = response.statusCode ?? 0;
        seen.requestId = (response.headers['x-gateway-request-id'] as string | undefined) ?? null;
        response.on('data', (chunk: Buffer) => {
          seen.text += chunk.toString();
        });
        response.on('error', () => {});
        response.on('close', () => {
          seen.complete = response.complete;
          resolve(seen);
        });
      },
    );
    request.on('error', () => resolve(seen));
    request.end(JSON.stringify(options.body));
  });
}

/** Whole numbers below a bound, the same for the same seed. */
export function randomOf(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return below <= 1 ? 0 : Math.floor((state / 2 ** 32) * below);
  };
}

/** A new seed for every run, unless one is to be repeated; said in the output either way. */
export function takeSeed(): number {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
  console.info(`SEED=${seed}`);
  return seed;
}
