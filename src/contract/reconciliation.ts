import { Type } from 'typebox';
import { nullable, oneOf, operation, Timestamp, Uuid } from './operation.ts';
import { INVOICED_PROVIDERS } from './providers.ts';

const ExactUsd = Type.String({ description: 'US dollars, exact: six to twelve decimals' });

export const ReconciliationRun = Type.Object({
  id: Uuid,
  provider: oneOf(INVOICED_PROVIDERS),
  invoice_month: Type.String({ description: 'YYYY-MM' }),
  status: Type.String({ description: 'completed' }),
  file_name: nullable(Type.String()),
  invoice_total_usd: ExactUsd,
  ledger_total_usd: ExactUsd,
  delta_usd: Type.String({ description: 'invoice minus ledger' }),
  matched_lines: Type.Integer({ description: 'lines of models that the gateway saw in that month' }),
  unmatched_lines: Type.Integer({ description: 'lines of models it did not see, or of no model' }),
  shadow_ai_count: Type.Integer({ description: 'models that were billed and never seen by the gateway' }),
  created_at: Timestamp,
});

export const ReconciledModel = Type.Object({
  model_id: Type.String(),
  invoice_usd: ExactUsd,
  ledger_usd: ExactUsd,
  delta_usd: Type.String({ description: 'invoice minus ledger' }),
  delta_share: nullable(
    Type.Number({ description: 'delta as a share of the invoice; null where nothing was billed' }),
  ),
  invoice_lines: Type.Integer(),
  requests: Type.Integer(),
  status: oneOf(['matched', 'only_invoice', 'only_ledger'], {
    description: 'only_invoice is shadow AI: billed, never seen by the gateway',
  }),
});

export const ReconciliationDetail = Type.Object({
  ...ReconciliationRun.properties,
  layout: Type.String({ description: 'what the file was recognised as' }),
  models: Type.Array(ReconciledModel, { description: 'the largest difference first' }),
  other_lines: Type.Integer({ description: 'lines that name no model: taxes, credits, tool calls' }),
  other_usd: ExactUsd,
  left_out_lines: Type.Integer({ description: 'lines of other services on a cloud bill; not counted' }),
  outside_month_lines: Type.Integer({ description: 'lines dated outside the month; they are counted' }),
  unmatched: Type.Array(
    Type.Object({
      text: Type.String(),
      row: Type.Integer({ description: 'the first of these lines in the file' }),
      lines: Type.Integer(),
      amount_usd: ExactUsd,
      reason: oneOf(['not_in_ledger', 'no_model']),
    }),
    { description: 'what did not match, the dearest first' },
  ),
});

export const reconciliationOperations = {
  uploadInvoice: operation({
    method: 'POST',
    path: '/v1/reconciliation/upload',
    auth: 'tenant',
    tag: 'Reconciliation',
    summary: 'Compare a provider’s invoice or cost export (CSV) with the ledger of that month',
    upload: true,
    body: Type.Object({
      provider: oneOf(INVOICED_PROVIDERS),
      invoice_month: Type.String({ pattern: '^\\d{4}-(0[1-9]|1[0-2])$', description: 'YYYY-MM' }),
    }),
    success: 201,
    response: ReconciliationRun,
    refusals: ['bad_request', 'invalid_provider', 'parse_error', 'payload_too_large'],
  }),
  listReconciliations: operation({
    method: 'GET',
    path: '/v1/reconciliation',
    auth: 'tenant',
    tag: 'Reconciliation',
    summary: 'Reconciliation runs, newest first',
    success: 200,
    response: Type.Array(ReconciliationRun),
  }),
  getReconciliation: operation({
    method: 'GET',
    path: '/v1/reconciliation/{id}',
    auth: 'tenant',
    tag: 'Reconciliation',
    summary: 'One run with its figures per model',
    success: 200,
    response: ReconciliationDetail,
  }),
  deleteReconciliation: operation({
    method: 'DELETE',
    path: '/v1/reconciliation/{id}',
    auth: 'tenant',
    tag: 'Reconciliation',
    summary: 'Delete a run',
    success: 204,
    response: null,
  }),
};
