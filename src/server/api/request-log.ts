import { formatUsd } from '../../contract/money.ts';
import { MAX_EXPORT_ROWS } from '../../contract/usage.ts';
import {
  findRequestHours,
  listRequestsInHours,
  type RequestDetailRow,
  type RequestFilter,
  type RequestHour,
  type RequestLogRow,
} from '../store/requests.ts';
import type { CsvFile } from './handler.ts';
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

export function requestRow(row: RequestLogRow) {
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

export function requestDetail(row: RequestDetailRow) {
  const { user_name: user, ...shown } = row;
  return { ...shown, ...requestRow(row), user };
}

/** The newest matches as a file, read while they are sent; requests that come meanwhile are not in it. */
export async function requestsCsv(
  parts: ApiParts,
  tenantId: string,
  filter: RequestFilter,
): Promise<CsvFile> {
  const { hours } = await parts.database.asTenant(tenantId, (db) =>
    findRequestHours(db, tenantId, filter, { limit: MAX_EXPORT_ROWS, offset: 0 }),
  );
  async function* rows() {
    let left = MAX_EXPORT_ROWS;
    for await (const row of readRequests(parts, tenantId, filter, hours)) {
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

/** Few hours at a time when they are full, many when they are nearly empty, so that a batch stays a batch. */
async function* readRequests(
  parts: ApiParts,
  tenantId: string,
  filter: RequestFilter,
  hours: readonly RequestHour[],
): AsyncGenerator<RequestLogRow> {
  for (const group of groupHours(hours)) {
    let beforeId: string | undefined;
    for (;;) {
      const page = { limit: EXPORT_BATCH, skip: 0, beforeId };
      const batch = await parts.database.asTenant(tenantId, (db) =>
        listRequestsInHours(db, tenantId, filter, group, page),
      );
      yield* batch;
      if (batch.length < EXPORT_BATCH) break;
      beforeId = batch.at(-1)!.id;
    }
  }
}

function groupHours(hours: readonly RequestHour[]): RequestHour[][] {
  const groups: RequestHour[][] = [];
  let room = 0;
  for (const hour of hours) {
    if (hour.requests > room) {
      groups.push([]);
      room = EXPORT_BATCH;
    }
    groups.at(-1)!.push(hour);
    room -= hour.requests;
  }
  return groups;
}
