import { LRUCache } from 'lru-cache';
import { type Refusal, refuse } from '../../contract/errors.ts';
import { type ParsedApiKey, parseApiKey } from '../domain/api-keys.ts';
import type { KeyFacts, Snapshots, TenantSnapshot } from './snapshot.ts';

export interface Caller {
  tenant: TenantSnapshot;
  key: KeyFacts;
}

/** Working out the same key's checksum and hash again for every request would be the dearest part of it. */
const MAX_READ_KEYS = 10_000;
const readKeys = new LRUCache<string, ParsedApiKey>({ max: MAX_READ_KEYS });

function readKey(keyText: string): ParsedApiKey | null {
  const known = readKeys.get(keyText);
  if (known) return known;
  const parsed = parseApiKey(keyText);
  if (parsed) readKeys.set(keyText, parsed);
  return parsed;
}

/** Whose key this is. A key that cannot be one is refused without a look at anything. */
export async function identify(snapshots: Snapshots, keyText: string | null): Promise<Caller | Refusal> {
  if (keyText === null)
    return refuse('invalid_token', 'Send a gateway key, for example as Authorization: Bearer gw_live_….');
  const parsed = readKey(keyText);
  if (!parsed) return refuse('invalid_token');
  const found = snapshots.peekKey(parsed) ?? (await snapshots.findKey(parsed));
  switch (found.kind) {
    case 'known':
      return { tenant: found.tenant, key: found.key };
    case 'unknown':
      return refuse('invalid_token');
    case 'unavailable':
      return refuse('unavailable');
  }
}
