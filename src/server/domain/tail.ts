import { formatUsd } from '../../contract/money.ts';
import type { TailEvent } from '../../contract/stream.ts';
import { alertMessage } from './alert-messages.ts';

/** What a reader of the live tail wants to see of the requests; each field narrows further. */
export interface TailFilter {
  /** A team's name, slug or id. */
  team?: string | undefined;
  service?: string | undefined;
  model?: string | undefined;
  minCostMicrodollars?: number | undefined;
}

/** A request as the live tail reads it. */
export interface TailedRequest {
  id: string;
  created_at: string;
  provider: string;
  model_requested: string | null;
  model_id: string | null;
  tokens_input: number;
  tokens_output: number;
  cost_microdollars: number;
  latency_total_ms: number;
  status_code: number;
  environment: string;
  team_id: string | null;
  team_name: string | null;
  team_slug: string | null;
  service_name: string | null;
  user_name: string | null;
  end_customer: string | null;
  agent: string | null;
}

export type Tailed =
  | { kind: 'request'; request: TailedRequest }
  | { kind: 'alert'; event: { id: string; type: string; created_at: string; data: Record<string, unknown> } };

/** Alerts concern the whole account, so no filter hides them. */
export function isWanted(filter: TailFilter, tailed: Tailed): boolean {
  if (tailed.kind === 'alert') return true;
  const { request } = tailed;
  if (filter.team !== undefined && !isTeam(filter.team, request)) return false;
  if (filter.service !== undefined && request.service_name !== filter.service) return false;
  if (filter.model !== undefined && ![request.model_id, request.model_requested].includes(filter.model)) {
    return false;
  }
  return request.cost_microdollars >= (filter.minCostMicrodollars ?? 0);
}

function isTeam(text: string, request: TailedRequest): boolean {
  const lower = text.toLowerCase();
  return request.team_name === text || request.team_slug === lower || request.team_id === lower;
}

/** The JSON that readers get. */
export function showTailed(tailed: Tailed): TailEvent {
  if (tailed.kind === 'alert') return showAlert(tailed.event);
  const { request } = tailed;
  return {
    type: 'request',
    id: request.id,
    provider: request.provider,
    model_id: request.model_id,
    model_requested: request.model_requested,
    tokens_input: request.tokens_input,
    tokens_output: request.tokens_output,
    cost_microdollars: request.cost_microdollars,
    cost_usd: formatUsd(request.cost_microdollars),
    team: request.team_name,
    service: request.service_name,
    user: request.user_name,
    end_customer: request.end_customer,
    agent: request.agent,
    environment: request.environment,
    status_code: request.status_code,
    latency_ms: request.latency_total_ms,
    created_at: request.created_at,
  };
}

/** What is told like an alert without being one, a kill switch that was put on, is dressed as one. */
function showAlert({ id, type, created_at, data }: (Tailed & { kind: 'alert' })['event']): TailEvent {
  if (typeof data.alert_type === 'string') return { ...data, type: 'alert' } as TailEvent;
  const { title, severity } = alertMessage({ type, data, createdAtMs: Date.parse(created_at) }, '');
  return {
    type: 'alert',
    id,
    alert_type: type.replace(/^alert\./, ''),
    severity,
    title,
    acknowledged: false,
    created_at,
    metadata: data,
  };
}

/** Where a reader begins, and how many events it asked for that lie too far back. */
export interface TailStart {
  after: number;
  missed: number;
}

/**
 * A reader that names no last event begins with what comes next. An id we never gave out, of a database that
 * was restored to an earlier day for example, is treated the same: there is nothing to resume from.
 */
export function startOfTail(lastEventId: string | null, head: number, resumeEvents: number): TailStart {
  const asked = lastEventId !== null && /^\d{1,15}$/.test(lastEventId) ? Number(lastEventId) : head;
  if (asked > head) return { after: head, missed: 0 };
  const oldest = Math.max(0, head - resumeEvents);
  return asked < oldest ? { after: oldest, missed: oldest - asked } : { after: asked, missed: 0 };
}
