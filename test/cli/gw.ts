import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Gateway } from '../harness.ts';

const ROOT = join(import.meta.dirname, '..', '..');
export const BUNDLE = join(ROOT, 'dist', 'gw.cjs');

/** The client as people get it: bundled. */
export function buildClient(...args: string[]): string {
  const script = join(ROOT, 'scripts', 'build-cli.mjs');
  return execFileSync(process.execPath, [script, ...args], { encoding: 'utf8' }).trim();
}

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Running {
  stdout(): string;
  stderr(): string;
  interrupt(): void;
  ended: Promise<Ran>;
}

export interface Cli {
  /** The folder the configuration and any files of a test lie in. */
  directory: string;
  config: string;
  /** Runs the bundled client to its end. What is given as input is piped into it. */
  run(args: string[], input?: string): Promise<Ran>;
  start(args: string[], input?: string): Running;
  /** Exactly so: nothing on stderr, exit code 0. */
  print(...args: string[]): Promise<string>;
  remove(): void;
}

/** A client with a configuration of its own. */
export function makeCli(gateway: Pick<Gateway, 'apiUrl' | 'proxyUrl'>, token?: string): Cli {
  const directory = mkdtempSync(join(tmpdir(), 'gw-test-'));
  const config = join(directory, 'config.json');
  const fields = {
    api_url: gateway.apiUrl,
    proxy_url: gateway.proxyUrl,
    ...(token !== undefined && { token }),
  };
  writeFileSync(config, JSON.stringify(fields));
  const start = (args: string[], input?: string) =>
    startProcess([BUNDLE, '--config', config, ...args], directory, input);
  return {
    directory,
    config,
    start,
    run: (args, input) => start(args, input).ended,
    async print(...args) {
      const ran = await start(args).ended;
      if (ran.code !== 0 || ran.stderr !== '')
        throw new Error(`gw ${args.join(' ')}: ${JSON.stringify(ran)}`);
      return ran.stdout;
    },
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

function startProcess(args: string[], cwd: string, input = ''): Running {
  // Variables that colour, proxy or move other programs: this one must not care.
  const env = { PATH: process.env.PATH, FORCE_COLOR: '1', HOME: '/nonexistent', GW_TOKEN: 'x', NO_COLOR: '' };
  const child = spawn(process.execPath, args, { cwd, env, stdio: 'pipe' });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text;
  });
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  return {
    stdout: () => stdout,
    stderr: () => stderr,
    interrupt: () => child.kill('SIGINT'),
    ended: new Promise((resolve) => child.on('close', (code) => resolve({ code, stdout, stderr }))),
  };
}
