import { Type } from 'typebox';
import { Subscription } from './account.ts';
import { AuditEntry } from './audit.ts';
import {
  Microdollars,
  nullable,
  oneOf,
  operation,
  PageQuery,
  page,
  Timestamp,
  Usd,
  Uuid,
} from './operation.ts';
import { PROVIDERS } from './providers.ts';

export const TENANT_STATUSES = ['active', 'suspended', 'cancelled'] as const;

const UsageFigures = Type.Object({
  requests: Type.Integer(),
  errors: Type.Integer(),
  tokens_input: Type.Integer(),
  tokens_output: Type.Integer(),
  tokens_cached: Type.Integer(),
  cost_microdollars: Microdollars,
  cost_usd: Usd,
});

export const OperatorTenantRow = Type.Object({
  tenant_id: Uuid,
  name: Type.String(),
  email: Type.String(),
  plan_tier: Type.String(),
  status: Type.String(),
  included_requests: Type.Integer(),
  used_requests: Type.Integer({ description: 'calls of this month that reached a provider' }),
  requests_30_days: Type.Integer(),
  cost_30_days_microdollars: Microdollars,
  cost_30_days_usd: Usd,
  created_at: Timestamp,
});

export const OperatorTenant = Type.Object({
  tenant_id: Uuid,
  name: Type.String(),
  email: Type.String(),
  plan_tier: Type.String(),
  status: Type.String(),
  included_requests: Type.Integer(),
  notes: nullable(Type.String()),
  digest_enabled: Type.Boolean(),
  data_share_enabled: Type.Boolean(),
  chat_webhook_set: Type.Boolean(),
  created_at: Timestamp,
  updated_at: Timestamp,
  subscription: Subscription,
  usage: Type.Object({
    last_30_days: UsageFigures,
    this_month: UsageFigures,
    top_models: Type.Array(
      Type.Object({
        provider: Type.String(),
        model_id: Type.String(),
        requests: Type.Integer(),
        cost_microdollars: Microdollars,
        cost_usd: Usd,
      }),
      { description: 'of the last 30 days, most expensive first' },
    ),
  }),
  provider_keys: Type.Array(
    Type.Object({
      id: Uuid,
      provider: oneOf(PROVIDERS),
      key_version: Type.Integer(),
      last_rotated_at: nullable(Timestamp),
      created_at: Timestamp,
    }),
    { description: 'which keys are stored, never their material' },
  ),
  api_keys: Type.Object({
    active: Type.Integer(),
    revoked: Type.Integer(),
    last_used_at: nullable(Timestamp),
  }),
  teams: Type.Integer(),
  recent_audit: Type.Array(AuditEntry),
});

export const operatorTenantsOperations = {
  listTenants: operation({
    method: 'GET',
    path: '/v1/operator/tenants',
    auth: 'operator',
    tag: 'Operator',
    summary: 'All tenants, newest first',
    query: Type.Object({
      search: Type.Optional(
        Type.String({
          maxLength: 256,
          pattern: '^[^\\u0000]*$',
          description: 'part of a name or e-mail address, or a whole tenant id',
        }),
      ),
      status: Type.Optional(oneOf(TENANT_STATUSES)),
      plan_tier: Type.Optional(Type.String({ maxLength: 64, pattern: '^[^\\u0000]*$' })),
      ...PageQuery,
    }),
    success: 200,
    response: page(OperatorTenantRow),
  }),
  getTenant: operation({
    method: 'GET',
    path: '/v1/operator/tenants/{id}',
    auth: 'operator',
    tag: 'Operator',
    summary: 'One tenant: plan, usage, stored keys without their material, recent audit',
    success: 200,
    response: OperatorTenant,
  }),
  updateTenant: operation({
    method: 'PUT',
    path: '/v1/operator/tenants/{id}',
    auth: 'operator',
    tag: 'Operator',
    summary:
      'Change plan, status, included requests or notes; a tenant that is not active can neither log in nor call',
    body: Type.Object({
      plan_tier: Type.Optional(
        Type.String({
          pattern: '^[a-z0-9][a-z0-9_-]{0,31}$',
          description: 'a name of lower-case letters, digits, - and _',
        }),
      ),
      status: Type.Optional(oneOf(TENANT_STATUSES)),
      included_requests: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
      notes: Type.Optional(
        nullable(
          Type.String({
            maxLength: 4000,
            pattern: '^[^\\u0000]*$',
            description: 'for operators; tenants never see them',
          }),
        ),
      ),
    }),
    success: 200,
    response: OperatorTenant,
  }),
};
