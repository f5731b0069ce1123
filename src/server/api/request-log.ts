import { isRefusal, refuse } from '../../contract/errors.ts';
import { formatUsd } from '../../contract/money.ts';
import { DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT } from '../../contract/operation.ts';
import { MAX_EXPORT_ROWS, type usageOperations } from '../../contract/usage.ts';
import { readDayRange } from '../domain/day-range.ts';
import { type CostLine, costOf } from '../domain/pricing.ts';
import type { ServedTerms } from '../domain/usage.ts';
import { readStoredPrice } from '../store/prices.ts';
import {
  findRequest,
  findRequestSpans,
  listRequestsInSpans,
  type RequestDetailRow,
  type RequestFilter,
  type RequestLogRow,
  type RequestSpan,
} from '../store/requests.ts';
import type { CsvFile, Handlers } from './handler.ts';
import type { ApiParts } from './parts.ts';

const EXPORT_BATCH = 1_000;
const EXPORT_COLUMNS = [
  'id',
  'created_at',
  'provider',
  'model_id',
  'tokens_input',
  'tokens_output',
  'cost_microdollars',
  'cost_usd',
  'latency_total_ms',
  'status_code',
  'team_id',
  'service_name',
  'cost_status',
  'usage_source',
  'user',
  'end_customer',
  'agent',
  'environment',
  'endpoint',
  'model_requested',
] as const;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The filters that every usage report takes. */
export interface UsageQuery {
  from?: string | undefined;
  to?: string | undefined;
  team_id?: string | undefined;
  model?: string | undefined;
  service?: string | undefined;
}

type RequestLogOperations = Pick<typeof usageOperations, 'listRequests' | 'getRequest'>;

export function requestLogApi(parts: ApiParts): Handlers<RequestLogOperations> {
  return {
    async listRequests({ query, caller: { tenantId } }) {
      const range = readDayRange(query);
      if (isRefusal(range)) return range;
      const { user, end_customer: endCustomer, status } = query;
      const filter: RequestFilter = { range, ...dimensionsOf(query), user, endCustomer, status };
      if (query.format === 'csv') return requestsCsv(parts, tenantId, filter);
      const offset = query.offset ?? 0;
      const limit = Math.min(query.limit ?? DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT);
      return parts.database.asTenant(tenantId, async (db) => {
        const found = await findRequestSpans(db, tenantId, filter, { limit, offset });
        const page = { limit, skip: found.skip };
        const rows = await listRequestsInSpans(db, tenantId, filter, found.spans, page);
        return { data: rows.map(requestRow), total: found.total, limit, offset };
      });
    },

    async getRequest({ params, caller: { tenantId } }) {
      const id = params.id!;
      if (!UUID.test(id)) return refuse('not_found');
      const row = await parts.database.asTenant(tenantId, (db) => findRequest(db, tenantId, id));
      return row ? requestDetail(row) : refuse('not_found');
    },
  };
}

export function dimensionsOf(query: UsageQuery) {
  return { teamId: query.team_id?.toLowerCase(), model: query.model, service: query.service };
}

function requestRow(row: RequestLogRow) {
  return {
    id: row.id,
    created_at: row.created_at.toISOString(),
    provider: row.provider,
    model_id: row.model_id,
    tokens_input: row.tokens_input,
    tokens_output: row.tokens_output,
    cost_microdollars: row.cost_microdollars,
    cost_usd: formatUsd(row.cost_microdollars),
    cost_status: row.cost_status,
    usage_source: row.usage_source,
    latency_total_ms: row.latency_total_ms,
    status_code: row.status_code,
    team_id: row.team_id,
    service_name: row.service_name,
  };
}

function requestDetail(row: RequestDetailRow) {
  const { user_name: user, price, ...shown } = row;
  return { ...shown, ...requestRow(row), user, usage: { ...row.usage }, cost_breakdown: costBreakdown(row) };
}

/** Worked out from what was stored, by the function that charged it: prices are never changed, only succeeded. */
function costBreakdown(row: RequestDetailRow): CostLine[] {
  if (!row.price) return [];
  const terms = { tier: row.service_tier as ServedTerms['tier'], region: row.region };
  const cost = costOf(readStoredPrice(row.price), row.usage, terms, row.created_at.getTime());
  // An interrupted call is charged what it had reserved, which no bucket explains.
  return cost.microdollars === row.cost_microdollars ? cost.breakdown : [];
}

/** The newest matches as a file, read while they are sent; requests that come meanwhile are not in it. */
async function requestsCsv(parts: ApiParts, tenantId: string, filter: RequestFilter): Promise<CsvFile> {
  const { spans } = await parts.database.asTenant(tenantId, (db) =>
    findRequestSpans(db, tenantId, filter, { limit: MAX_EXPORT_ROWS, offset: 0 }),
  );
  async function* rows() {
    let left = MAX_EXPORT_ROWS;
    for await (const row of readRequests(parts, tenantId, filter, spans)) {
      if (left === 0) return;
      left -= 1;
      const cells = {
        ...row,
        user: row.user_name,
        cost_usd: formatUsd(row.cost_microdollars),
      };
      yield EXPORT_COLUMNS.map((column) => cells[column]);
    }
  }
  return { kind: 'csv', filename: 'requests.csv', columns: EXPORT_COLUMNS, rows: rows() };
}

/** Few spans at a time when they are full, many when they are nearly empty, so that a batch stays a batch. */
async function* readRequests(
  parts: ApiParts,
  tenantId: string,
  filter: RequestFilter,
  spans: readonly RequestSpan[],
): AsyncGenerator<RequestLogRow> {
  for (const group of groupSpans(spans)) {
    let beforeId: string | undefined;
    for (;;) {
      const page = { limit: EXPORT_BATCH, skip: 0, beforeId };
      const batch = await parts.database.asTenant(tenantId, (db) =>
        listRequestsInSpans(db, tenantId, filter, group, page),
      );
      yield* batch;
      if (batch.length < EXPORT_BATCH) break;
      beforeId = batch.at(-1)!.id;
    }
  }
}

function groupSpans(spans: readonly RequestSpan[]): RequestSpan[][] {
  const groups: RequestSpan[][] = [];
  let room = 0;
  for (const span of spans) {
    if (span.requests > room) {
      groups.push([]);
      room = EXPORT_BATCH;
    }
    groups.at(-1)!.push(span);
    room -= span.requests;
  }
  return groups;
}
