import { LRUCache } from 'lru-cache';
import type { Provider } from '../../contract/providers.ts';
import { type KeyedHash, openKeyedHash } from '../../ledger/keyed-hash.ts';
import type { Logger } from '../adapters/log.ts';
import type { Vault } from '../adapters/vault.ts';
import type { ParsedApiKey } from '../domain/api-keys.ts';
import { type KeyScope, makeTeamDirectory, type TeamDirectory } from '../domain/attribution.ts';
import type { Budget } from '../domain/budgets.ts';
import type { ActiveKillSwitch } from '../domain/kill-switches.ts';
import { makePriceBook, type PriceBook } from '../domain/price-book.ts';
import { parsePrice } from '../domain/price-json.ts';
import type { Database, Db } from '../store/database.ts';
import { listPrices } from '../store/prices.ts';
import { findKeyOwner, findTenantState, type TenantState } from '../store/snapshots.ts';
import { within } from './patience.ts';

const MAX_TENANTS = 20_000;
const MAX_KEY_OWNERS = 200_000;
/** An unknown key is asked for again after this long. */
const UNKNOWN_KEY_MS = 5_000;
/** Keys nobody knows must not queue up in front of those somebody does. */
const MAX_LOOKUPS_IN_FLIGHT = 64;
/** A store that is silent is away: nobody waits longer than this to hear so. */
const STORE_PATIENCE_MS = 3_000;

export interface KeyFacts {
  id: string;
  prefix: string;
  environment: 'production' | 'test';
  scope: KeyScope;
}

/** What a proxy knows of a tenant: enough to decide a request without asking anyone. */
export interface TenantSnapshot {
  tenantId: string;
  active: boolean;
  /** By the hexadecimal hash of the key; revoked keys are not here. */
  keys: ReadonlyMap<string, KeyFacts>;
  teams: TeamDirectory;
  providerKeys: ReadonlyMap<Provider, string>;
  /** Makes this tenant's prompts comparable with one another and with nobody else's. */
  fingerprint: KeyedHash;
  /** In the order of their ids, which is the order in which they are locked. */
  budgets: readonly Budget[];
  killSwitches: readonly ActiveKillSwitch[];
}

export type KeyLookup =
  | { kind: 'known'; tenant: TenantSnapshot; key: KeyFacts }
  | { kind: 'unknown' }
  /** The store could not be asked, or too many others are asking it. */
  | { kind: 'unavailable' };

/**
 * The control state in memory: loaded on first use, kept while the database is away, read again when a change
 * is announced. A tenant's state is always replaced whole.
 */
export class Snapshots {
  readonly #database: Database;
  readonly #vault: Vault;
  readonly #log: Logger;
  readonly #owners = new LRUCache<string, string>({ max: MAX_KEY_OWNERS });
  readonly #unknownKeys = new LRUCache<string, true>({ max: MAX_KEY_OWNERS, ttl: UNKNOWN_KEY_MS });
  readonly #tenants = new LRUCache<string, TenantSnapshot>({ max: MAX_TENANTS });
  readonly #loading = new Map<
    string,
    { running: Promise<TenantSnapshot | null>; next: Promise<TenantSnapshot | null> | null }
  >();
  readonly #lookups = new Map<string, Promise<KeyLookup>>();
  #prices: PriceBook = new Map();
  #onRefreshed: (tenantId: string) => void = () => {};

  constructor(parts: { database: Database; vault: Vault; log: Logger }) {
    this.#database = parts.database;
    this.#vault = parts.vault;
    this.#log = parts.log;
  }

  get prices(): PriceBook {
    return this.#prices;
  }

  /** The answer from memory, or undefined when the store has to be asked. */
  peekKey(key: ParsedApiKey): KeyLookup | undefined {
    const hash = key.hash.toString('hex');
    const owner = this.#owners.get(hash);
    if (owner === undefined) return this.#unknownKeys.has(hash) ? { kind: 'unknown' } : undefined;
    const tenant = this.#tenants.get(owner);
    return tenant && lookUp(tenant, hash);
  }

  /** Many requests with one key ask the store once. */
  findKey(key: ParsedApiKey): Promise<KeyLookup> {
    const hash = key.hash.toString('hex');
    const running = this.#lookups.get(hash);
    if (running) return running;
    if (this.#lookups.size >= MAX_LOOKUPS_IN_FLIGHT) return Promise.resolve({ kind: 'unavailable' });
    const lookup = this.#loadKey(hash, key.hash)
      .catch((error: Error): KeyLookup => {
        this.#log.warn({ err: error }, 'a key could not be looked up');
        return { kind: 'unavailable' };
      })
      .finally(() => this.#lookups.delete(hash));
    this.#lookups.set(hash, lookup);
    return lookup;
  }

  async #loadKey(hash: string, keyHash: Buffer): Promise<KeyLookup> {
    const owner = this.#owners.get(hash) ?? (await this.#ask((db) => findKeyOwner(db, keyHash)));
    const tenant = owner === null ? null : await this.#loadTenant(owner);
    if (owner === null || tenant === null) {
      this.#unknownKeys.set(hash, true);
      return { kind: 'unknown' };
    }
    this.#owners.set(hash, owner);
    return lookUp(tenant, hash);
  }

  /** Reads a tenant again if it is in memory. Rejects while the store is away; the old state stays in force. */
  async refreshTenant(tenantId: string): Promise<void> {
    if (this.#tenants.has(tenantId) || this.#loading.has(tenantId)) await this.#loadTenant(tenantId);
    this.#onRefreshed(tenantId);
  }

  /** For what else hangs on a tenant's state, such as money leased under a limit that may have changed. */
  onRefreshed(listener: (tenantId: string) => void): void {
    this.#onRefreshed = listener;
  }

  async refreshPrices(): Promise<void> {
    const rows = await this.#ask(listPrices);
    const book = rows.flatMap(({ effective_from_ms, price: json, ...row }) => {
      const price = parsePrice(json);
      if (!('problem' in price)) return [{ ...row, effective_from: effective_from_ms, price }];
      this.#log.error(
        { price: row.price_id, problem: price.problem, field: price.field },
        'a stored price cannot be read',
      );
      return [];
    });
    this.#prices = makePriceBook(book);
  }

  /** Everything held, again: after the announcements may have been missed. */
  async refreshAll(): Promise<void> {
    await this.refreshPrices();
    for (const tenantId of [...this.#tenants.keys()]) await this.#loadTenant(tenantId);
  }

  /**
   * A load that began before a change was committed may have read the old state, so whoever asks while one is
   * running gets the one after it.
   */
  #loadTenant(tenantId: string): Promise<TenantSnapshot | null> {
    const entry = this.#loading.get(tenantId);
    if (entry) {
      entry.next ??= entry.running.catch(() => null).then(() => this.#startLoad(tenantId));
      return entry.next;
    }
    return this.#startLoad(tenantId);
  }

  #startLoad(tenantId: string): Promise<TenantSnapshot | null> {
    const running = this.#readTenant(tenantId);
    const entry = { running, next: null };
    this.#loading.set(tenantId, entry);
    const done = () => {
      if (this.#loading.get(tenantId) === entry && entry.next === null) this.#loading.delete(tenantId);
    };
    running.then(done, done);
    return running;
  }

  async #readTenant(tenantId: string): Promise<TenantSnapshot | null> {
    const state = await this.#ask((db) => findTenantState(db, tenantId));
    if (!state) return null;
    const snapshot = makeSnapshot(state, this.#vault, this.#log);
    this.#tenants.set(tenantId, snapshot);
    return snapshot;
  }

  #ask<T>(question: (db: Db) => Promise<T>): Promise<T> {
    return within(this.#database.asSystem(question), STORE_PATIENCE_MS, 'the store');
  }
}

function lookUp(tenant: TenantSnapshot, hash: string): KeyLookup {
  const key = tenant.active ? tenant.keys.get(hash) : undefined;
  return key ? { kind: 'known', tenant, key } : { kind: 'unknown' };
}

function makeSnapshot(state: TenantState, vault: Vault, log: Logger): TenantSnapshot {
  const keyFacts = (key: TenantState['keys'][number]): KeyFacts => ({
    id: key.id,
    prefix: key.prefix,
    environment: key.environment,
    scope: { team_id: key.team_id, service: key.service_name },
  });
  // One provider key that does not open must not take the tenant's other providers with it.
  const openKey = (key: TenantState['provider_keys'][number]): Array<[Provider, string]> => {
    const sealed = Buffer.from(key.key_sealed, 'base64');
    try {
      const place = `provider_key:${key.id}`;
      return [[key.provider, vault.open(state.tenant_id, state.data_key_wrapped, place, sealed)]];
    } catch (error) {
      log.error({ err: error, tenant: state.tenant_id, key: key.id }, 'a provider key cannot be opened');
      return [];
    }
  };
  return {
    tenantId: state.tenant_id,
    active: state.status === 'active',
    keys: new Map(state.keys.map((key) => [key.key_hash, keyFacts(key)])),
    teams: makeTeamDirectory(state.teams),
    providerKeys: new Map(state.provider_keys.flatMap(openKey)),
    fingerprint: openKeyedHash(
      vault.deriveKey(state.tenant_id, state.data_key_wrapped, 'prompt_fingerprint'),
    ),
    budgets: state.budgets,
    killSwitches: state.kill_switches,
  };
}
