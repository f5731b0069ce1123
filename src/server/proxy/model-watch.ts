import {
  findModelChanges,
  type ModelSighting,
  modelChangeAlert,
  sightingKey,
  sightingOf,
  unpricedCause,
  unpricedModelAlert,
  unpricedModelOf,
} from '../domain/model-changes.ts';
import type { RequestRecord } from '../domain/request-record.ts';
import { raiseAlert } from '../store/alerts.ts';
import type { Db } from '../store/database.ts';
import { insertSightings, listSightingsOfNames } from '../store/model-sightings.ts';

const MAX_REMEMBERED = 50_000;

/**
 * Notices models that change behind their names, and models without a price. What was noted once is remembered
 * in this process, so that an ordinary batch asks the database nothing.
 */
export class ModelWatch {
  readonly #remembered = new Set<string>();

  /** In the transaction that writes the records, which holds their tenants' ledger heads: one at a time per tenant. */
  async note(db: Db, records: readonly RequestRecord[]): Promise<void> {
    const unseen = new Map<string, ModelSighting>();
    for (const sighting of records.map(sightingOf)) {
      if (sighting === null) continue;
      const key = sightingKey(sighting);
      if (!this.#remembered.has(key) && !unseen.has(key)) unseen.set(key, sighting);
    }
    if (unseen.size > 0) {
      const known = await listSightingsOfNames(db, [...unseen.values()]);
      const { fresh, changes } = findModelChanges(known, [...unseen.values()]);
      if (fresh.length > 0) await insertSightings(db, fresh);
      for (const change of changes) await raiseAlert(db, modelChangeAlert(change));
    }
    for (const unpriced of records.map(unpricedModelOf)) {
      if (unpriced === null || this.#remembered.has(unpricedKey(unpriced))) continue;
      await raiseAlert(db, unpricedModelAlert(unpriced));
    }
  }

  /** After the commit only: what a failed transaction noted would be forgotten for good. */
  remember(records: readonly RequestRecord[]): void {
    if (this.#remembered.size > MAX_REMEMBERED) this.#remembered.clear();
    for (const record of records) {
      const sighting = sightingOf(record);
      if (sighting) this.#remembered.add(sightingKey(sighting));
      const unpriced = unpricedModelOf(record);
      if (unpriced) this.#remembered.add(unpricedKey(unpriced));
    }
  }
}

function unpricedKey(unpriced: { tenant_id: string; provider: string; model_id: string }): string {
  return `${unpriced.tenant_id} ${unpricedCause(unpriced.provider, unpriced.model_id)}`;
}
