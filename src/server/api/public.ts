import { formatUsd } from '../../contract/money.ts';
import { DEFAULT_INDEX_DAYS, type publicOperations } from '../../contract/public.ts';
import { listBuckets } from '../store/cost-index.ts';
import type { Handlers } from './handler.ts';
import type { ApiParts } from './parts.ts';

const DAY_MS = 86_400_000;

export function publicApi(parts: ApiParts): Handlers<typeof publicOperations> {
  return {
    getCostIndex: async ({ query }) => {
      const days = query.days ?? DEFAULT_INDEX_DAYS;
      const fromDay = new Date(parts.nowMs() - (days - 1) * DAY_MS).toISOString().slice(0, 10);
      const rows = await parts.database.asSystem((db) =>
        listBuckets(db, { fromDay, provider: query.provider, modelId: query.model_id }),
      );
      return {
        data: rows.map((row) => ({
          date: row.day,
          provider: row.provider,
          model_id: row.model_id,
          model_family: row.model_family,
          avg_cost_usd: formatUsd(row.avg_cost_microdollars),
          p50_cost_usd: formatUsd(row.p50_cost_microdollars),
          p95_cost_usd: formatUsd(row.p95_cost_microdollars),
          total_requests: row.total_requests,
          tenant_count: row.tenant_count,
        })),
      };
    },
  };
}
