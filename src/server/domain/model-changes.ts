import type { RequestRecord } from './request-record.ts';

/** A model that answered for a name that was asked for. */
export interface ModelSighting {
  tenant_id: string;
  provider: string;
  model_requested: string;
  model_served: string;
  first_seen_at: string;
}

export interface ModelChange {
  sighting: ModelSighting;
  /** What answered for that name before. */
  previousModel: string;
}

/** A model whose use cannot be charged, because no price is known for it. */
export interface UnpricedModel {
  tenant_id: string;
  provider: string;
  model_id: string;
}

export interface ModelAlert {
  tenantId: string;
  type: 'model_change';
  severity: 'info' | 'warning';
  title: string;
  metadata: Record<string, unknown>;
  cause: string;
}

/** What a release adds to a model's name: a date or a number. */
const RELEASE = /^-\d[\d-]*$/;

/**
 * Only an answer that came with the provider's own usage is believed to name its model; where there was none,
 * the record repeats the name that was asked for.
 */
export function sightingOf(record: RequestRecord): ModelSighting | null {
  const { model_requested, model_id, status_code } = record;
  if (record.usage_source !== 'provider' || status_code < 200 || status_code > 299) return null;
  if (model_requested === null || model_id === null) return null;
  return {
    tenant_id: record.tenant_id,
    provider: record.provider,
    model_requested,
    model_served: model_id,
    first_seen_at: record.created_at,
  };
}

/** Nothing was charged although something was used. Without any usage there was nothing to charge. */
export function unpricedModelOf(record: RequestRecord): UnpricedModel | null {
  if (record.cost_status !== 'unpriced' || record.usage_source === 'none') return null;
  const modelId = record.model_requested ?? record.model_id;
  return modelId === null
    ? null
    : { tenant_id: record.tenant_id, provider: record.provider, model_id: modelId };
}

/** Names hold no line break: the readers take control characters out of them. */
export function sightingKey(sighting: ModelSighting): string {
  return `${nameKey(sighting)}\n${sighting.model_served}`;
}

function nameKey({ tenant_id, provider, model_requested }: ModelSighting): string {
  return `${tenant_id}\n${provider}\n${model_requested}`;
}

/**
 * What is new among the sightings of a batch, and what of it is a change: a name that another model has
 * answered for before. `known` is in the order of first sight. A name used for the first time has no before.
 */
export function findModelChanges(
  known: readonly ModelSighting[],
  seen: readonly ModelSighting[],
): { fresh: ModelSighting[]; changes: ModelChange[] } {
  const keys = new Set(known.map(sightingKey));
  const latest = new Map(known.map((sighting) => [nameKey(sighting), sighting.model_served]));
  const fresh: ModelSighting[] = [];
  const changes: ModelChange[] = [];
  for (const sighting of seen) {
    const key = sightingKey(sighting);
    if (keys.has(key)) continue;
    keys.add(key);
    fresh.push(sighting);
    const previousModel = latest.get(nameKey(sighting));
    if (previousModel !== undefined) changes.push({ sighting, previousModel });
    latest.set(nameKey(sighting), sighting.model_served);
  }
  return { fresh, changes };
}

/** A new release of the model asked for is worth knowing; another model in its place is worth a look. */
export function modelChangeAlert({ sighting, previousModel }: ModelChange): ModelAlert {
  const { tenant_id, provider, model_requested, model_served, first_seen_at } = sighting;
  const isRelease =
    model_served.startsWith(model_requested) && RELEASE.test(model_served.slice(model_requested.length));
  return {
    tenantId: tenant_id,
    type: 'model_change',
    severity: isRelease ? 'info' : 'warning',
    title: `${model_requested} is now answered by ${model_served}`,
    metadata: {
      change: 'served_model',
      provider,
      model_requested,
      previous_model: previousModel,
      new_model: model_served,
      changed_at: first_seen_at,
    },
    cause: `served:${provider}:${model_requested}:${model_served}`,
  };
}

export function unpricedModelAlert({ tenant_id, provider, model_id }: UnpricedModel): ModelAlert {
  return {
    tenantId: tenant_id,
    type: 'model_change',
    severity: 'warning',
    title: `No price is known for ${model_id}: its requests count as $0 until there is one`,
    metadata: { change: 'unpriced', provider, model_id },
    cause: unpricedCause(provider, model_id),
  };
}

export function unpricedCause(provider: string, modelId: string): string {
  return `unpriced:${provider}:${modelId}`;
}
