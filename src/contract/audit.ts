import { Type } from 'typebox';
import {
  DayRangeQuery,
  FormatQuery,
  nullable,
  operation,
  PageQuery,
  page,
  Timestamp,
  Uuid,
} from './operation.ts';

export const AuditEntry = Type.Object({
  id: Uuid,
  tenant_id: Uuid,
  actor_type: Type.String({ description: 'user, operator or system' }),
  actor_id: nullable(Type.String()),
  action: Type.String({ description: 'dotted name such as api_key.created' }),
  resource_type: nullable(Type.String()),
  resource_id: nullable(Type.String()),
  ip_address: nullable(Type.String()),
  details: Type.Record(Type.String(), Type.Unknown()),
  created_at: Timestamp,
});

export const auditOperations = {
  listAudit: operation({
    method: 'GET',
    path: '/v1/audit',
    auth: 'tenant',
    tag: 'Audit',
    summary: 'Who did what, newest first',
    query: Type.Object({
      actor_type: Type.Optional(Type.String({ maxLength: 64 })),
      action: Type.Optional(Type.String({ maxLength: 128 })),
      ...DayRangeQuery,
      ...PageQuery,
      ...FormatQuery,
    }),
    success: 200,
    response: page(AuditEntry),
    streams: 'csv',
  }),
};
