import { Type } from 'typebox';
import { operation, Timestamp } from './operation.ts';

export const healthOperations = {
  getHealth: operation({
    method: 'GET',
    path: '/health',
    auth: 'none',
    tag: 'Health',
    summary:
      'Whether the service and its database answer; 503 with status degraded when the database does not',
    success: 200,
    refusals: ['unavailable'],
    response: Type.Object({
      status: Type.String(),
      db: Type.String(),
      version: Type.String(),
      timestamp: Timestamp,
    }),
  }),
};
