import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfPresent, writeFileDurably } from '../server/adapters/durable-file.ts';

/** What the demo remembers of itself between two runs. The file also marks the directory as the demo's own. */
export interface DemoState {
  madeBy: typeof MARK;
  /** A story that was cut off is told again from its beginning. */
  told: boolean;
  seed: number;
  requests: number;
  /** Where webhooks, chat messages and price pages go; kept, because their addresses are in the data. */
  localPort: number;
  email: string;
  password: string;
  keys: DemoKeys;
}

export interface DemoKeys {
  production: string;
  test: string;
}

const MARK = 'gateway demo';
const FILE = 'demo.json';
/** What opening a data directory leaves in it. */
const NOTHING_OF_NOTE = new Set(['lock']);

export function newState(seed: number, requests: number): DemoState {
  return {
    madeBy: MARK,
    told: false,
    seed,
    requests,
    localPort: 0,
    email: '',
    password: '',
    keys: { production: '', test: '' },
  };
}

/** Null in a directory that is empty; `foreign` in one that holds anything but the demo's data. */
export async function readState(dataDir: string): Promise<DemoState | null | 'foreign'> {
  const text = await readIfPresent(join(dataDir, FILE));
  if (text === null) {
    const found = await readdir(dataDir);
    return found.some((name) => !NOTHING_OF_NOTE.has(name)) ? 'foreign' : null;
  }
  try {
    const state = JSON.parse(text) as DemoState;
    return state.madeBy === MARK ? state : 'foreign';
  } catch {
    return 'foreign';
  }
}

/** It holds a password and keys, if only of simulated providers: for this user's eyes, like the secrets beside it. */
export async function writeState(dataDir: string, state: DemoState): Promise<void> {
  await writeFileDurably(join(dataDir, FILE), `${JSON.stringify(state, null, 2)}\n`);
}
