import { validate as isUuid } from 'uuid';
import {
  type budgetApprovalsOperations,
  DEFAULT_GRANT_HOURS,
  MAX_GRANT_HOURS,
} from '../../contract/budget-approvals.ts';
import { MAX_LIMIT_USD } from '../../contract/budgets.ts';
import { isRefusal, type Refusal, refuse } from '../../contract/errors.ts';
import { formatUsd, parseUsd } from '../../contract/money.ts';
import { DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT, type ResponseOf } from '../../contract/operation.ts';
import { recordAudit } from '../store/audit.ts';
import * as store from '../store/budget-approvals.ts';
import type { Handlers, TenantCaller } from './handler.ts';
import type { ApiParts } from './parts.ts';

type Operations = typeof budgetApprovalsOperations;
type Approval = ResponseOf<Operations['denyBudgetApproval']>;

const HOUR_MS = 3_600_000;

export function budgetApprovalsApi(parts: ApiParts): Handlers<Operations> {
  return {
    listBudgetApprovals: async ({ caller: { tenantId }, query }) => {
      const page = {
        limit: Math.min(query.limit ?? DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT),
        offset: query.offset ?? 0,
      };
      const filter = { status: query.status ?? null, at: new Date(parts.nowMs()) };
      const { rows, total } = await parts.database.asTenant(tenantId, (db) =>
        store.listApprovals(db, tenantId, filter, page),
      );
      return { data: rows.map(show), total, ...page };
    },
    approveBudgetApproval: async (call) => {
      const { extra_usd: extraUsd, duration_hours: asked = DEFAULT_GRANT_HOURS } = call.body;
      const extraMicrodollars = extraUsd <= MAX_LIMIT_USD ? parseUsd(extraUsd) : null;
      if (extraMicrodollars === null) {
        return refuse(
          'invalid_field',
          `The field "extra_usd" is not valid: it has at most six decimals and is at most ${MAX_LIMIT_USD}.`,
        );
      }
      const hours = Math.min(asked, MAX_GRANT_HOURS);
      const nowMs = parts.nowMs();
      const approval = await decide(parts, call, {
        status: 'approved',
        extraMicrodollars,
        approvedUntil: new Date(nowMs + hours * HOUR_MS),
        decidedBy: call.caller.email,
        at: new Date(nowMs),
      });
      if (isRefusal(approval)) return approval;
      return { ...approval, duration_hours: hours, duration_capped: hours < asked };
    },
    denyBudgetApproval: (call) =>
      decide(parts, call, { status: 'denied', decidedBy: call.caller.email, at: new Date(parts.nowMs()) }),
  };
}

function decide(
  parts: ApiParts,
  { caller, params, ip }: { caller: TenantCaller; params: Record<string, string>; ip: string },
  decision: store.Decision,
): Promise<Approval | Refusal> {
  const { tenantId } = caller;
  return parts.changeTenant(tenantId, async (db) => {
    const { id } = params;
    if (id === undefined || !isUuid(id)) return refuse('not_found');
    const approval = await store.decideApproval(db, tenantId, id, decision);
    if (!approval) {
      if (await store.approvalExists(db, tenantId, id))
        return refuse('conflict', 'This approval has been decided already.');
      return refuse('not_found');
    }
    const grant = decision.status === 'approved' && {
      extra_usd: formatUsd(decision.extraMicrodollars),
      approved_until: decision.approvedUntil.toISOString(),
    };
    await recordAudit(db, {
      tenantId,
      actorType: 'user',
      actorId: caller.email,
      action: `budget_approval.${decision.status}`,
      resourceType: 'budget_approval',
      resourceId: id,
      ip,
      details: { budget_id: approval.budget_id, ...grant },
    });
    return show(approval);
  });
}

function show(row: store.ApprovalRow): Approval {
  return {
    ...row,
    requested_at: row.requested_at.toISOString(),
    decided_at: row.decided_at?.toISOString() ?? null,
    extra_usd: row.extra_microdollars === null ? null : formatUsd(row.extra_microdollars),
    approved_until: row.approved_until?.toISOString() ?? null,
  };
}
