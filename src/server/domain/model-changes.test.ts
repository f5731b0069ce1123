import { describe, expect, it } from 'vitest';
import {
  findModelChanges,
  type ModelSighting,
  modelChangeAlert,
  sightingOf,
  unpricedModelAlert,
  unpricedModelOf,
} from './model-changes.ts';
import type { RequestRecord } from './request-record.ts';

const TENANT = '018f0000-0000-7000-8000-000000000001';
const sighting = (model_requested: string, model_served: string, tenant_id = TENANT): ModelSighting => ({
  tenant_id,
  provider: 'prov_a',
  model_requested,
  model_served,
  first_seen_at: '2026-03-04T05:06:07.000Z',
});
const record = (fields: Partial<RequestRecord>) =>
  ({
    tenant_id: TENANT,
    provider: 'prov_a',
    created_at: '2026-03-04T05:06:07.000Z',
    model_requested: 'gpt-5',
    model_id: 'gpt-5-2025-08-07',
    status_code: 200,
    usage_source: 'provider',
    cost_status: 'priced',
    ...fields,
  }) as RequestRecord;

describe('a sighting', () => {
  it('is an answer that came with the provider’s own usage', () => {
    expect(sightingOf(record({}))).toEqual(sighting('gpt-5', 'gpt-5-2025-08-07'));
  });

  it.each([
    [{ usage_source: 'estimated' as const }],
    [{ usage_source: 'none' as const }],
    [{ status_code: 404 }],
    [{ status_code: 499 }],
    [{ model_requested: null }],
    [{ model_id: null }],
  ])('is none with %j', (fields) => {
    expect(sightingOf(record(fields))).toBeNull();
  });
});

describe('a change', () => {
  const changed = (known: ModelSighting[], seen: ModelSighting[]) =>
    findModelChanges(known, seen).changes.map(({ sighting: to, previousModel }) => [
      previousModel,
      to.model_served,
    ]);

  it('is another model for a name than the one before it', () => {
    expect(changed([sighting('gpt-5', 'a')], [sighting('gpt-5', 'b')])).toEqual([['a', 'b']]);
    expect(changed([sighting('gpt-5', 'a'), sighting('gpt-5', 'b')], [sighting('gpt-5', 'c')])).toEqual([
      ['b', 'c'],
    ]);
  });

  it('is not the first use of a name', () => {
    const { fresh, changes } = findModelChanges([], [sighting('gpt-5', 'a'), sighting('gpt-4', 'b')]);
    expect([fresh.length, changes.length]).toEqual([2, 0]);
  });

  it('is not another tenant’s, another provider’s or another name’s', () => {
    const known = [
      sighting('gpt-5', 'a', '018f0000-0000-7000-8000-000000000002'),
      { ...sighting('gpt-5', 'a'), provider: 'prov_d' },
      sighting('gpt-4', 'a'),
    ];
    expect(changed(known, [sighting('gpt-5', 'b')])).toEqual([]);
  });

  it('is told once, also when providers go to and fro between two models', () => {
    const seen = ['a', 'b', 'a', 'b', 'a'].map((served) => sighting('gpt-5', served));
    expect(changed([], seen)).toEqual([['a', 'b']]);
    expect(changed([sighting('gpt-5', 'a'), sighting('gpt-5', 'b')], seen)).toEqual([]);
  });
});

describe('the alert', () => {
  it.each([
    ['gpt-5', 'gpt-5-2025-08-07', 'info'],
    ['gemini-2.0-flash', 'gemini-2.0-flash-001', 'info'],
    ['gpt-5', 'gpt-5-mini', 'warning'],
    ['gpt-5', 'gpt-4o', 'warning'],
    ['gpt-5', 'gpt-5', 'warning'],
  ])('for %s answered by %s is of the severity %s', (requested, served, severity) => {
    const alert = modelChangeAlert({ sighting: sighting(requested, served), previousModel: 'before' });
    expect(alert).toMatchObject({
      type: 'model_change',
      severity,
      title: `${requested} is now answered by ${served}`,
      metadata: { previous_model: 'before', new_model: served, model_requested: requested },
    });
  });

  it('for a model without a price has one cause per provider and model', () => {
    const unpriced = unpricedModelOf(record({ cost_status: 'unpriced' }))!;
    expect(unpricedModelAlert(unpriced)).toMatchObject({
      severity: 'warning',
      cause: 'unpriced:prov_a:gpt-5',
      metadata: { change: 'unpriced', model_id: 'gpt-5' },
    });
  });

  it('for a model without a price is not raised where nothing was used or no model named', () => {
    expect(unpricedModelOf(record({}))).toBeNull();
    expect(unpricedModelOf(record({ cost_status: 'free' }))).toBeNull();
    expect(unpricedModelOf(record({ cost_status: 'unpriced', usage_source: 'none' }))).toBeNull();
    expect(
      unpricedModelOf(record({ cost_status: 'unpriced', model_requested: null, model_id: null })),
    ).toBeNull();
  });
});
