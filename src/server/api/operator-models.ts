import { validate as isUuid, v7 as uuidv7 } from 'uuid';
import { isRefusal, refuse } from '../../contract/errors.ts';
import type { ResponseOf } from '../../contract/operation.ts';
import type { operatorModelsOperations } from '../../contract/operator-models.ts';
import { announceChange } from '../store/control-changes.ts';
import type { Db } from '../store/database.ts';
import { addJob } from '../store/jobs.ts';
import * as models from '../store/models.ts';
import { findPriceChange, listPriceChanges, type PriceChangeRow } from '../store/price-changes.ts';
import { listModelPrices } from '../store/prices.ts';
import type { Handler, Handlers } from './handler.ts';
import { showPrice } from './models.ts';
import { recordOperatorAudit } from './operator-audit.ts';
import { pageOf } from './page.ts';
import type { ApiParts } from './parts.ts';
import { showChange } from './price-changes.ts';
import { priceFieldsOf, readEffectiveFrom, refuseField, setPrice } from './price-setting.ts';

type Operations = typeof operatorModelsOperations;
type OperatorModel = ResponseOf<Operations['createModel']>;
type EffectivePrice = NonNullable<OperatorModel['current_price']>;

const OPERATOR_SOURCE = 'operator';

export function operatorModelsApi(parts: ApiParts): Handlers<Operations> {
  return {
    listOperatorModels: ({ query }) =>
      parts.database.asSystem(async (db) => {
        const page = pageOf(query);
        const { rows, total } = await models.listModels(db, new Date(parts.nowMs()), query, page);
        return { data: rows.map(showModel), total, ...page };
      }),
    createModel: createModel(parts),
    updateModel: updateModel(parts),
    listModelPrices: ({ params }) =>
      parts.database.asSystem(async (db) => {
        const model = isUuid(params.id)
          ? await models.findModel(db, params.id!, new Date(parts.nowMs()))
          : null;
        if (!model) return refuse('not_found');
        const rows = await listModelPrices(db, model.id);
        return rows.map((row) => ({
          ...row,
          price: showPrice(row.price),
          effective_from: row.effective_from.toISOString(),
          created_at: row.created_at.toISOString(),
        }));
      }),
    listAnnouncedPriceChanges: ({ query }) =>
      parts.database.asSystem(async (db) => {
        const page = pageOf(query);
        const { rows, total } = await listPriceChanges(db, page);
        return { data: rows.map(showAnnounced), total, ...page };
      }),
    announcePriceChange: announcePriceChange(parts),
  };
}

function createModel(parts: ApiParts): Handler<Operations['createModel']> {
  return ({ body, ip }) =>
    parts.database.asSystem(async (db) => {
      const now = new Date(parts.nowMs());
      const effectiveFrom = readEffectiveFrom('effective_from', body.effective_from, now);
      if (isRefusal(effectiveFrom)) return effectiveFrom;
      // Gemini writes models/x and x for one model; the price book knows it by the latter.
      const modelId = body.model_id.trim().replace(/^models\//, '');
      const draft: models.ModelDraft = {
        id: uuidv7(),
        provider: body.provider,
        modelId,
        modelFamily: body.model_family?.trim() ?? modelId,
        contextWindow: body.context_window ?? null,
        status: body.status ?? 'active',
      };
      if (!(await models.insertModel(db, draft))) {
        return refuse('conflict', `${body.provider} has a model "${modelId}" already.`);
      }
      const set = await setPrice(db, {
        model: draft.id,
        changes: priceFieldsOf(body),
        effectiveFrom,
        now,
        source: OPERATOR_SOURCE,
        note: null,
        apply: true,
      });
      if (isRefusal(set)) return set;
      const created = await readModel(db, draft.id, now);
      await recordModelAudit(db, ip, 'model.created', created);
      return created;
    });
}

function updateModel(parts: ApiParts): Handler<Operations['updateModel']> {
  return ({ body, params, ip }) =>
    parts.database.asSystem(async (db) => {
      const now = new Date(parts.nowMs());
      const id = params.id;
      if (!isUuid(id) || !(await models.lockModel(db, id!))) return refuse('not_found');
      const before = await readModel(db, id!, now);
      const changes = priceFieldsOf(body);
      const effectiveFrom = readEffectiveFrom('effective_from', body.effective_from, now);
      if (isRefusal(effectiveFrom)) return effectiveFrom;
      if (Object.keys(changes).length > 0) {
        const note = body.note ?? null;
        const setting = { model: before.id, changes, effectiveFrom, now, source: OPERATOR_SOURCE, note };
        const set = await setPrice(db, { ...setting, apply: true });
        if (isRefusal(set)) return set;
      } else if (body.effective_from !== undefined) {
        return refuseField({ field: 'effective_from', problem: 'needs a price that is to begin then' });
      }
      await models.updateModel(db, before.id, {
        modelFamily: body.model_family?.trim() ?? before.model_family,
        contextWindow: body.context_window === undefined ? before.context_window : body.context_window,
        status: body.status ?? before.status,
      });
      if (body.status !== undefined && body.status !== before.status) {
        // An inactive model is not in the price book; one that comes back may price what waited for it.
        await announceChange(db, 'prices');
        await addJob(db, 'correct_unpriced', {});
      }
      const after = await readModel(db, before.id, now);
      await recordModelAudit(db, ip, 'model.updated', after, Object.keys(body));
      return after;
    });
}

function announcePriceChange(parts: ApiParts): Handler<Operations['announcePriceChange']> {
  return ({ body, ip }) =>
    parts.database.asSystem(async (db) => {
      const now = new Date(parts.nowMs());
      const effectiveFrom = readEffectiveFrom('effective_at', body.effective_at, now);
      if (isRefusal(effectiveFrom)) return effectiveFrom;
      const model = await models.lockModelByName(db, body.provider, body.model_id.trim());
      if (model === null) {
        return refuse('not_found', `${body.provider} has no model "${body.model_id}".`);
      }
      const set = await setPrice(db, {
        model,
        changes: priceFieldsOf(body),
        effectiveFrom,
        now,
        source: body.source ?? OPERATOR_SOURCE,
        note: body.note ?? null,
        apply: body.apply ?? true,
      });
      if (isRefusal(set)) return set;
      if (set.kind !== 'changed') {
        return refuse('conflict', 'This is the price in force at that time; there is nothing to announce.');
      }
      await recordOperatorAudit(db, ip, {
        action: 'price_change.announced',
        resourceType: 'price_change',
        resourceId: set.changeId,
        details: { provider: body.provider, model_id: body.model_id, applied: set.priceId !== null },
      });
      return showAnnounced((await findPriceChange(db, set.changeId))!);
    });
}

async function readModel(db: Db, id: string, at: Date): Promise<OperatorModel> {
  return showModel((await models.findModel(db, id, at))!);
}

function recordModelAudit(
  db: Db,
  ip: string,
  action: string,
  model: OperatorModel,
  fields?: readonly string[],
): Promise<void> {
  const { provider, model_id, status, current_price, upcoming_prices } = model;
  return recordOperatorAudit(db, ip, {
    action,
    resourceType: 'model',
    resourceId: model.id,
    details: {
      provider,
      model_id,
      status,
      fields,
      price: current_price?.price,
      upcoming: upcoming_prices.length,
    },
  });
}

function showModel(row: models.ModelRow): OperatorModel {
  const { current_price, upcoming_prices, created_at, updated_at, ...model } = row;
  const current = current_price && showNested(current_price);
  return {
    ...model,
    ...current?.price,
    current_price: current,
    upcoming_prices: upcoming_prices.map(showNested),
    pricing_updated_at: current?.effective_from ?? null,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  };
}

function showNested(price: models.NestedPrice): EffectivePrice {
  return {
    ...price,
    price: showPrice(price.price),
    effective_from: new Date(price.effective_from).toISOString(),
    created_at: new Date(price.created_at).toISOString(),
  };
}

function showAnnounced(change: PriceChangeRow): ResponseOf<Operations['announcePriceChange']> {
  return {
    ...showChange(change),
    applied: change.price_id !== null,
    tenants_notified: change.tenants_notified,
  };
}
