import {
  chmodSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { ENVIRONMENTS } from '../contract/api-keys.ts';
import { Stop } from './exit.ts';

export const DEFAULT_API_URL = 'http://127.0.0.1:8080';
/** Where the proxy listens beside an API whose configuration says nothing else. */
const DEFAULT_PROXY_PORT = '8081';

const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;

export interface Config {
  api_url: string;
  token: string | null;
  default_environment: (typeof ENVIRONMENTS)[number];
  /** Only when it cannot be derived from `api_url`. */
  proxy_url: string | null;
}

export function configFileIn(homeDir: string | null): string {
  if (homeDir === null) {
    throw new Stop(
      'no_home',
      'This user has no home directory to keep the configuration in.',
      'gw --config <file> init',
    );
  }
  return join(homeDir, '.gw', 'config.json');
}

/** What the file says, and for everything it does not say the default. */
export function readConfig(file: string): Config {
  const said = readFields(file);
  const text = (name: string): string | null => {
    const value = said[name];
    if (value === undefined || value === null) return null;
    if (typeof value !== 'string') throw broken(file, `${name} is not a text`);
    return value;
  };
  const environment = text('default_environment') ?? 'production';
  const known = ENVIRONMENTS.find((name) => name === environment);
  if (!known) throw broken(file, `default_environment is neither ${ENVIRONMENTS.join(' nor ')}`);
  return {
    api_url: text('api_url') ?? DEFAULT_API_URL,
    token: text('token'),
    default_environment: known,
    proxy_url: text('proxy_url'),
  };
}

/** Changes some fields and leaves the others, known or not, as they are. A null takes a field away. */
export function changeConfig(file: string, changes: Partial<Config>): void {
  const fields: Record<string, unknown> = { ...readFields(file), ...changes };
  for (const [name, value] of Object.entries(fields)) {
    if (value === null || value === undefined) delete fields[name];
  }
  const directory = dirname(file);
  const made = mkdirSync(directory, { recursive: true, mode: DIRECTORY_MODE });
  // A directory of ours that someone opened up is closed again; one chosen with --config is not ours to change.
  if (made === undefined && directory.endsWith('.gw')) chmodSync(directory, DIRECTORY_MODE);
  writeWhole(file, `${JSON.stringify(fields, null, 2)}\n`);
}

/** The token may be read by nobody else at any moment, and a crash leaves the old file or the new one. */
function writeWhole(file: string, content: string): void {
  const draft = `${file}.${process.pid}.${crypto.randomUUID().slice(0, 8)}`;
  try {
    const handle = openSync(draft, 'wx', FILE_MODE);
    try {
      writeSync(handle, content);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

function readFields(file: string): Record<string, unknown> {
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return {};
    if (code === 'EISDIR') {
      throw new Stop(
        'invalid_config',
        `The configuration ${file} is a directory.`,
        'gw --config <file> init',
      );
    }
    throw error;
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(content);
  } catch {
    throw broken(file, 'it is not JSON');
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw broken(file, 'it is not a JSON object');
  }
  return parsed as Record<string, unknown>;
}

function broken(file: string, problem: string): Stop {
  return new Stop(
    'invalid_config',
    `The configuration ${file} cannot be used: ${problem}.`,
    `rm ${file} && gw init`,
  );
}

/** As the server prints them when it starts: people copy the whole of it. */
const PRINTED_PATHS = /\/v1(\/proxy(\/.*)?)?\/*$/;

/** A base address without a trailing slash, or null when it is none. */
export function readBaseUrl(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.search || url.hash) return null;
  return url.href.replace(PRINTED_PATHS, '').replace(/\/+$/, '');
}

export function proxyUrlOf(config: Config, apiUrl: string): string {
  if (config.proxy_url !== null) return config.proxy_url;
  const url = new URL(apiUrl);
  url.port = DEFAULT_PROXY_PORT;
  url.pathname = '/';
  return url.href.replace(/\/+$/, '');
}
