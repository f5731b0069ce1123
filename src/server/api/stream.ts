import type { streamOperations } from '../../contract/stream.ts';
import type { Handlers } from './handler.ts';
import type { ApiParts } from './parts.ts';

export function streamApi(parts: ApiParts): Handlers<typeof streamOperations> {
  return {
    openTail: async ({ query, caller }) =>
      parts.liveTail.open(caller.tenantId, {
        team: query.team,
        service: query.service,
        model: query.model,
        minCostMicrodollars: query.min_cost,
      }),
  };
}
