import { validate as isUuid } from 'uuid';
import { isRefusal, type Refusal, refuse } from '../../contract/errors.ts';
import type { ResponseOf } from '../../contract/operation.ts';
import { INVOICED_PROVIDERS, type InvoicedProvider } from '../../contract/providers.ts';
import type { reconciliationOperations } from '../../contract/reconciliation.ts';
import { CsvProblem, readCsv } from '../adapters/csv-reader.ts';
import { type Invoice, InvoiceReader } from '../domain/invoice.ts';
import { reconcile } from '../domain/reconciliation.ts';
import { recordAudit } from '../store/audit.ts';
import type { Db } from '../store/database.ts';
import { listPricedModels } from '../store/models.ts';
import * as store from '../store/reconciliation.ts';
import type { Handler, Handlers, TenantCaller, UploadPart } from './handler.ts';
import type { ApiParts } from './parts.ts';

type Operations = typeof reconciliationOperations;
type Run = ResponseOf<Operations['uploadInvoice']>;

const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;
const MAX_FILE_NAME_CHARACTERS = 200;

interface Upload {
  provider: InvoicedProvider;
  month: string;
  fileName: string | null;
  invoice: Invoice;
}

export function reconciliationApi(parts: ApiParts): Handlers<Operations> {
  return {
    uploadInvoice: uploadInvoice(parts),
    listReconciliations: async ({ caller: { tenantId } }) => {
      const rows = await parts.database.asTenant(tenantId, (db) => store.listRuns(db, tenantId));
      return rows.map(show);
    },
    getReconciliation: async ({ caller: { tenantId }, params: { id } }) => {
      if (id === undefined || !isUuid(id)) return refuse('not_found');
      const run = await parts.database.asTenant(tenantId, (db) => store.findRun(db, tenantId, id));
      return run ? { ...show(run), layout: run.layout, ...run.detail } : refuse('not_found');
    },
    deleteReconciliation: ({ caller, ip, params: { id } }) =>
      parts.database.asTenant(caller.tenantId, async (db) => {
        const run = id !== undefined && isUuid(id) ? await store.deleteRun(db, caller.tenantId, id) : null;
        if (!run) return refuse('not_found');
        await recordRunAudit(db, { caller, ip }, 'reconciliation.deleted', run);
        return undefined;
      }),
  };
}

function uploadInvoice(parts: ApiParts): Handler<Operations['uploadInvoice']> {
  return async ({ upload, caller, ip }) => {
    if (upload === null) return refuse('bad_request');
    // No transaction is open while the file comes in: a slow upload holds no connection.
    const read = await readUpload(upload);
    if (isRefusal(read)) return read;
    const { provider, month, fileName, invoice } = read;
    const { tenantId } = caller;
    const at = new Date(parts.nowMs());
    return parts.database.asTenant(tenantId, async (db) => {
      const ledger = await store.listLedgerModels(db, tenantId, provider, month);
      const catalogue = (await listPricedModels(db, at, provider)).map((model) => model.model_id);
      const result = reconcile(invoice, month, ledger, catalogue);
      const { layout } = invoice;
      const run = await store.insertRun(db, tenantId, {
        provider,
        month,
        fileName,
        layout,
        result,
        createdAt: at,
      });
      await recordRunAudit(db, { caller, ip }, 'reconciliation.created', run);
      return show(run);
    });
  };
}

/** Fields may stand before or after the file; what can be refused before the file is read, is. */
async function readUpload(upload: AsyncIterable<UploadPart>): Promise<Upload | Refusal> {
  const fields = new Map<string, string>();
  let file: { fileName: string | null; invoice: Invoice } | null = null;
  for await (const part of upload) {
    if (part.name === 'file' && part.kind === 'file') {
      const problem = fieldProblem(fields, 'given');
      if (problem) return problem;
      const invoice = await readInvoice(part.bytes);
      if (isRefusal(invoice)) return invoice;
      file = { fileName: cleanFileName(part.fileName), invoice };
    } else if (part.kind === 'field') fields.set(part.name, part.value.trim());
  }
  if (file === null) return refuse('bad_request', 'The field "file" is required: the invoice as a CSV file.');
  const problem = fieldProblem(fields, 'required');
  if (problem) return problem;
  return {
    ...file,
    provider: fields.get('provider') as InvoicedProvider,
    month: fields.get('invoice_month')!,
  };
}

function fieldProblem(fields: ReadonlyMap<string, string>, need: 'given' | 'required'): Refusal | null {
  const provider = fields.get('provider');
  const month = fields.get('invoice_month');
  if (need === 'required' && !provider) return refuse('bad_request', 'The field "provider" is required.');
  if (provider && !INVOICED_PROVIDERS.includes(provider as InvoicedProvider))
    return refuse('invalid_provider');
  if (need === 'required' && !month)
    return refuse('bad_request', 'The field "invoice_month" is required, as YYYY-MM.');
  if (month && !MONTH.test(month))
    return refuse('bad_request', 'The field "invoice_month" must be a month, as YYYY-MM.');
  return null;
}

async function readInvoice(bytes: AsyncIterable<Uint8Array>): Promise<Invoice | Refusal> {
  const reader = new InvoiceReader();
  try {
    for await (const { cells, row, delimiter } of readCsv(bytes)) {
      const problem = reader.take(cells, row, delimiter);
      if (problem !== null) return refuse('parse_error', problem);
    }
  } catch (error) {
    if (error instanceof CsvProblem) return refuse('parse_error', error.message);
    throw error;
  }
  const invoice = reader.finish();
  return 'problem' in invoice ? refuse('parse_error', invoice.problem) : invoice;
}

/** Only for people to recognise their file by. */
function cleanFileName(name: string | null): string | null {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must go
  const clean = (name ?? '').replaceAll(/[\u0000-\u001f\u007f]/g, '').trim();
  return clean === '' ? null : clean.slice(0, MAX_FILE_NAME_CHARACTERS);
}

function recordRunAudit(
  db: Db,
  { caller, ip }: { caller: TenantCaller; ip: string },
  action: string,
  run: store.RunRow,
): Promise<void> {
  return recordAudit(db, {
    tenantId: caller.tenantId,
    actorType: 'user',
    actorId: caller.email,
    action,
    resourceType: 'reconciliation_run',
    resourceId: run.id,
    ip,
    details: {
      provider: run.provider,
      invoice_month: run.invoice_month.slice(0, 7),
      invoice_total_usd: run.invoice_total_usd,
      delta_usd: run.delta_usd,
    },
  });
}

function show(run: store.RunRow): Run {
  return {
    id: run.id,
    provider: run.provider,
    invoice_month: run.invoice_month.slice(0, 7),
    status: run.status,
    file_name: run.file_name,
    invoice_total_usd: run.invoice_total_usd,
    ledger_total_usd: run.ledger_total_usd,
    delta_usd: run.delta_usd,
    matched_lines: run.matched_lines,
    unmatched_lines: run.unmatched_lines,
    shadow_ai_count: run.shadow_ai_count,
    created_at: run.created_at.toISOString(),
  };
}
