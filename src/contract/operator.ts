import { Type } from 'typebox';
import { AuditEntry } from './audit.ts';
import { Email } from './auth.ts';
import {
  DayRangeQuery,
  Microdollars,
  nullable,
  oneOf,
  operation,
  PageQuery,
  page,
  Timestamp,
  Usd,
} from './operation.ts';

const Figures = Type.Object({
  requests: Type.Integer(),
  errors: Type.Integer(),
  tokens_input: Type.Integer(),
  tokens_output: Type.Integer(),
  cost_microdollars: Microdollars,
  cost_usd: Usd,
});

const Counts = Type.Record(Type.String(), Type.Integer());

const Pool = Type.Object({
  total: Type.Integer({ description: 'open connections' }),
  idle: Type.Integer(),
  waiting: Type.Integer({ description: 'callers waiting for a connection' }),
});

export const JobStatus = Type.Object({
  name: Type.String(),
  schedule: Type.String({ description: 'five cron fields, UTC' }),
  last_started_at: nullable(Timestamp),
  last_finished_at: nullable(Timestamp),
  last_error: nullable(Type.String({ description: 'of the last run; null when it succeeded' })),
  last_duration_ms: nullable(Type.Integer()),
  running: Type.Boolean(),
  next_run_at: nullable(Timestamp),
});

const QueuedJob = Type.Object({ job: Type.String(), status: oneOf(['queued']) });

export const operatorOperations = {
  verifyOperator: operation({
    method: 'POST',
    path: '/v1/operator/auth/verify',
    auth: 'operator',
    tag: 'Operator',
    summary: 'Whether the operator token is right',
    success: 200,
    response: Type.Object({ valid: Type.Boolean() }),
  }),
  getPlatformStats: operation({
    method: 'GET',
    path: '/v1/operator/stats',
    auth: 'operator',
    tag: 'Operator',
    summary: 'Totals over all tenants',
    success: 200,
    response: Type.Object({
      tenants: Type.Object({
        total: Type.Integer(),
        active: Type.Integer(),
        suspended: Type.Integer(),
        cancelled: Type.Integer(),
        created_30_days: Type.Integer(),
        with_traffic_30_days: Type.Integer(),
      }),
      today: Figures,
      last_30_days: Figures,
      all_time: Figures,
      top_models: Type.Array(
        Type.Object({
          provider: Type.String(),
          model_id: Type.String(),
          tenants: Type.Integer(),
          requests: Type.Integer(),
          tokens_input: Type.Integer(),
          tokens_output: Type.Integer(),
          cost_microdollars: Microdollars,
          cost_usd: Usd,
        }),
        { description: 'of the last 30 days, most expensive first' },
      ),
    }),
  }),
  listOperatorAudit: operation({
    method: 'GET',
    path: '/v1/operator/audit',
    auth: 'operator',
    tag: 'Operator',
    summary: 'What operators did to the platform, newest first; what they did to a tenant is in its own log',
    query: Type.Object({
      action: Type.Optional(Type.String({ maxLength: 128, pattern: '^[^\\u0000]*$' })),
      ...DayRangeQuery,
      ...PageQuery,
    }),
    success: 200,
    response: page(AuditEntry),
  }),
  sendTestEmail: operation({
    method: 'POST',
    path: '/v1/operator/email/test',
    auth: 'operator',
    tag: 'Operator',
    summary: 'Send a test mail now and say whether the mail server took it',
    body: Type.Object({
      to: Email,
    }),
    success: 200,
    response: Type.Object({ to: Type.String(), status: oneOf(['sent']), via: oneOf(['smtp', 'outbox']) }),
    refusals: ['invalid_email', 'mail_failed'],
  }),
  getPlatformHealth: operation({
    method: 'GET',
    path: '/v1/operator/health',
    auth: 'operator',
    tag: 'Operator',
    summary: 'Connections, background jobs, queues, and this node’s journal',
    success: 200,
    response: Type.Object({
      status: oneOf(['ok', 'degraded']),
      problems: Type.Array(Type.String(), { description: 'what is not as it should be, in words' }),
      version: Type.String(),
      timestamp: Timestamp,
      pools: Type.Record(Type.String(), Pool),
      jobs: Type.Array(JobStatus),
      queues: Type.Array(
        Type.Object({
          task: Type.String(),
          ready: Type.Integer({ description: 'due and waiting for a worker' }),
          running: Type.Integer(),
          scheduled: Type.Integer({ description: 'due later, retries included' }),
          retrying: Type.Integer({ description: 'failed at least once and to be tried again' }),
          failed: Type.Integer({ description: 'given up after their last attempt' }),
          oldest_ready_seconds: nullable(Type.Integer()),
          last_error: nullable(Type.String()),
        }),
      ),
      node: nullable(
        Type.Object({
          node_id: Type.String(),
          role: Type.String(),
          started_at: Timestamp,
          requests_in_flight: nullable(Type.Integer()),
          journal: nullable(
            Type.Object({
              records_pending: Type.Integer({ description: 'written but not yet in the database' }),
              bytes: Type.Integer(),
              max_bytes: Type.Integer(),
            }),
          ),
          ingest: nullable(
            Type.Object({
              lag_ms: nullable(
                Type.Integer({ description: 'age of the oldest record not yet in the database' }),
              ),
              last_error: nullable(Type.String()),
            }),
          ),
        }),
      ),
      nodes: Type.Array(
        Type.Object({
          node_id: Type.String(),
          role: nullable(Type.String()),
          last_seen_at: nullable(Timestamp),
        }),
        { description: 'the nodes this one knows of, itself included' },
      ),
    }),
  }),
  getAlertStats: operation({
    method: 'GET',
    path: '/v1/operator/alerts/stats',
    auth: 'operator',
    tag: 'Operator',
    summary: 'Alerts of the last 30 days by type and severity',
    success: 200,
    response: Type.Object({
      window_days: Type.Integer(),
      total: Type.Integer(),
      acknowledged: Type.Integer(),
      by_type: Counts,
      by_severity: Counts,
      data: Type.Array(
        Type.Object({
          alert_type: Type.String(),
          severity: Type.String(),
          count: Type.Integer(),
          acknowledged: Type.Integer(),
          tenants: Type.Integer(),
        }),
      ),
    }),
  }),
  recomputeSavings: operation({
    method: 'POST',
    path: '/v1/operator/savings/recompute',
    auth: 'operator',
    tag: 'Operator',
    summary: 'Run the nightly savings analysis now, as a job',
    success: 200,
    response: QueuedJob,
  }),
  runJob: operation({
    method: 'POST',
    path: '/v1/operator/jobs/{name}/run',
    auth: 'operator',
    tag: 'Operator',
    summary: 'Run a scheduled job now; their names are in the health',
    success: 200,
    response: QueuedJob,
  }),
};
