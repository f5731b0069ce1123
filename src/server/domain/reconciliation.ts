import type { Invoice, InvoiceLabel } from './invoice.ts';
import { AMOUNT_PLACES, formatPicodollars } from './invoice-amount.ts';
import { findModelKey, modelKey } from './model-names.ts';

const PICODOLLARS_PER_MICRODOLLAR = 10n ** BigInt(AMOUNT_PLACES - 6);
/** Enough to see what is missing; the figures per model are complete. */
const MAX_UNMATCHED_SHOWN = 50;
const SHARE_PLACES = 1_000_000n;

/** What the gateway saw of one model in the month. */
export interface LedgerModel {
  model_id: string;
  requests: number;
  cost_microdollars: number;
}

export interface ReconciledModel {
  model_id: string;
  invoice_usd: string;
  ledger_usd: string;
  delta_usd: string;
  delta_share: number | null;
  invoice_lines: number;
  requests: number;
  status: 'matched' | 'only_invoice' | 'only_ledger';
}

export interface UnmatchedLines {
  text: string;
  row: number;
  lines: number;
  amount_usd: string;
  reason: 'not_in_ledger' | 'no_model';
}

export interface Reconciliation {
  invoice_total_usd: string;
  ledger_total_usd: string;
  delta_usd: string;
  matched_lines: number;
  unmatched_lines: number;
  shadow_ai_count: number;
  models: ReconciledModel[];
  other_lines: number;
  other_usd: string;
  outside_month_lines: number;
  left_out_lines: number;
  unmatched: UnmatchedLines[];
}

interface ModelSums {
  name: string;
  invoice: bigint;
  ledger: bigint;
  lines: number;
  requests: number;
  seen: boolean;
}

/** Lays an invoice beside the ledger of its month, model by model. Every figure adds up exactly. */
export function reconcile(
  invoice: Invoice,
  month: string,
  ledger: readonly LedgerModel[],
  catalogue: readonly string[],
): Reconciliation {
  const models = sumLedger(ledger);
  const names = new Map(catalogue.map((name) => [modelKey(name), name]));
  const known = new Set([...models.keys(), ...names.keys()]);
  const other: InvoiceLabel[] = [];
  const unseen: InvoiceLabel[] = [];
  for (const label of invoice.labels) {
    const key = findModelKey(label.text, label.isModel, known);
    if (key === null) {
      other.push(label);
      continue;
    }
    const sums = models.get(key) ?? newSums(names.get(key) ?? key, false);
    models.set(key, sums);
    sums.invoice += label.picodollars;
    sums.lines += label.lines;
    if (!sums.seen) unseen.push(label);
  }
  const sums = [...models.values()].filter((model) => model.lines > 0 || model.ledger > 0n);
  const ledgerTotal = sumBy([...models.values()], (model) => model.ledger);
  const lines = (labels: readonly InvoiceLabel[]) => labels.reduce((sum, label) => sum + label.lines, 0);
  return {
    invoice_total_usd: formatPicodollars(invoice.totalPicodollars),
    ledger_total_usd: formatPicodollars(ledgerTotal),
    delta_usd: formatPicodollars(invoice.totalPicodollars - ledgerTotal),
    matched_lines: lines(invoice.labels) - lines(other) - lines(unseen),
    unmatched_lines: lines(other) + lines(unseen),
    shadow_ai_count: sums.filter((model) => !model.seen && model.invoice > 0n).length,
    models: sums.sort((a, b) => compare(size(delta(b)), size(delta(a)))).map(show),
    other_lines: lines(other),
    other_usd: formatPicodollars(sumBy(other, (label) => label.picodollars)),
    outside_month_lines: outsideMonth(invoice, month),
    left_out_lines: invoice.leftOutLines,
    unmatched: [
      ...unseen.map((label) => ({ label, reason: 'not_in_ledger' as const })),
      ...other.map((label) => ({ label, reason: 'no_model' as const })),
    ]
      .sort((a, b) => compare(size(b.label.picodollars), size(a.label.picodollars)))
      .slice(0, MAX_UNMATCHED_SHOWN)
      .map(({ label, reason }) => ({
        text: label.text,
        row: label.firstRow,
        lines: label.lines,
        amount_usd: formatPicodollars(label.picodollars),
        reason,
      })),
  };
}

/** Dated and plain names of one model are one model; it is shown by the shortest. */
function sumLedger(ledger: readonly LedgerModel[]): Map<string, ModelSums> {
  const models = new Map<string, ModelSums>();
  for (const row of ledger) {
    const key = modelKey(row.model_id);
    const sums = models.get(key) ?? newSums(row.model_id, true);
    models.set(key, sums);
    if (row.model_id.length < sums.name.length) sums.name = row.model_id;
    sums.ledger += BigInt(row.cost_microdollars) * PICODOLLARS_PER_MICRODOLLAR;
    sums.requests += row.requests;
  }
  return models;
}

function newSums(name: string, seen: boolean): ModelSums {
  return { name, invoice: 0n, ledger: 0n, lines: 0, requests: 0, seen };
}

function show(model: ModelSums): ReconciledModel {
  return {
    model_id: model.name,
    invoice_usd: formatPicodollars(model.invoice),
    ledger_usd: formatPicodollars(model.ledger),
    delta_usd: formatPicodollars(delta(model)),
    delta_share:
      model.invoice === 0n
        ? null
        : Number((delta(model) * SHARE_PLACES) / model.invoice) / Number(SHARE_PLACES),
    invoice_lines: model.lines,
    requests: model.requests,
    status: model.lines === 0 ? 'only_ledger' : model.seen ? 'matched' : 'only_invoice',
  };
}

function delta(model: ModelSums): bigint {
  return model.invoice - model.ledger;
}

function outsideMonth(invoice: Invoice, month: string): number {
  let lines = 0;
  for (const [dated, count] of invoice.linesByMonth) if (dated !== month) lines += count;
  return lines;
}

function size(value: bigint): bigint {
  return value < 0n ? -value : value;
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function sumBy<T>(items: readonly T[], amount: (item: T) => bigint): bigint {
  return items.reduce((sum, item) => sum + amount(item), 0n);
}
