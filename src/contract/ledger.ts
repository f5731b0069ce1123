import { Type } from 'typebox';
import {
  DayRangeQuery,
  FormatQuery,
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

export const LedgerRecord = Type.Object({
  id: Uuid,
  sequence_number: Type.Integer(),
  kind: oneOf(['request', 'correction']),
  request_id: Uuid,
  cost_microdollars: Microdollars,
  cost_usd: Usd,
  provider: Type.String(),
  model_id: Type.String(),
  tokens_input: Type.Integer(),
  tokens_output: Type.Integer(),
  hierarchy_path: Type.String(),
  record_hash: Type.String(),
  created_at: Timestamp,
});

export const ledgerOperations = {
  listLedger: operation({
    method: 'GET',
    path: '/v1/ledger',
    auth: 'tenant',
    tag: 'Ledger',
    summary:
      'Ledger records, newest first: by sequence number, within a range by time; the CSV is the whole range in chain order, enough to verify it offline',
    query: Type.Object({ ...DayRangeQuery, ...PageQuery, ...FormatQuery }),
    success: 200,
    response: page(LedgerRecord),
    streams: 'csv',
  }),
  verifyLedger: operation({
    method: 'GET',
    path: '/v1/ledger/verify',
    auth: 'tenant',
    tag: 'Ledger',
    summary:
      'Re-derive hashes and signatures and say whether the chain holds; a range past its end is valid with nothing checked',
    query: Type.Object({
      from_seq: Type.Optional(Type.Integer({ minimum: 1, default: 1 })),
      to_seq: Type.Optional(
        Type.Integer({ minimum: 1, description: 'the newest record when absent or beyond it' }),
      ),
    }),
    success: 200,
    response: Type.Object({
      valid: Type.Boolean(),
      records_checked: Type.Integer(),
      first_seq: nullable(
        Type.Integer({ description: 'the first record found good, null when there is none' }),
      ),
      last_seq: nullable(Type.Integer({ description: 'the last record found good' })),
      first_invalid_sequence: Type.Optional(
        Type.Integer({ description: 'only when the chain does not hold: where it breaks' }),
      ),
      reason: Type.Optional(Type.String()),
    }),
  }),
};
