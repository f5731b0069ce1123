import { validate as isUuid } from 'uuid';
import { refuse } from '../../contract/errors.ts';
import { formatUsd } from '../../contract/money.ts';
import type { ResponseOf } from '../../contract/operation.ts';
import type { savingsOperations } from '../../contract/savings.ts';
import { recordAudit } from '../store/audit.ts';
import { dismissFinding, type FindingRow, listFindings } from '../store/savings.ts';
import type { Handlers } from './handler.ts';
import type { ApiParts } from './parts.ts';

type Operations = typeof savingsOperations;
type Finding = ResponseOf<Operations['dismissSaving']>;

export function savingsApi(parts: ApiParts): Handlers<Operations> {
  return {
    listSavings: async ({ query, caller: { tenantId } }) => {
      const includeDismissed = query.include_dismissed ?? false;
      const rows = await parts.database.asTenant(tenantId, (db) =>
        listFindings(db, tenantId, { includeDismissed }),
      );
      return rows.map(show);
    },
    dismissSaving: ({ caller, params, ip }) =>
      parts.database.asTenant(caller.tenantId, async (db) => {
        const { id } = params;
        const at = new Date(parts.nowMs());
        const finding =
          id !== undefined && isUuid(id) ? await dismissFinding(db, caller.tenantId, id, at) : null;
        if (!finding) return refuse('not_found');
        await recordAudit(db, {
          tenantId: caller.tenantId,
          actorType: 'user',
          actorId: caller.email,
          action: 'savings.dismissed',
          resourceType: 'savings_finding',
          resourceId: finding.id,
          ip,
          details: {
            finding_type: finding.finding_type,
            model_id: finding.model_id,
            service_name: finding.service_name || null,
          },
        });
        return show(finding);
      }),
  };
}

function show(finding: FindingRow): Finding {
  return {
    ...finding,
    service_name: finding.service_name || null,
    period_start: finding.period_start.toISOString(),
    period_end: finding.period_end.toISOString(),
    current_cost_usd: formatUsd(finding.current_cost_microdollars),
    optimized_cost_usd: formatUsd(finding.optimized_cost_microdollars),
    savings_usd: formatUsd(finding.savings_microdollars),
    created_at: finding.created_at.toISOString(),
  };
}
