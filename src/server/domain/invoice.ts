import { AMOUNT_PLACES, isUsDollars, type Mark, readAmount } from './invoice-amount.ts';
import { type InvoiceColumns, readColumns } from './invoice-columns.ts';

/** Some files have a page of remarks before the names of the columns. */
const MAX_HEADER_ROWS = 60;
/** A file with more different lines than this is no invoice. */
const MAX_LABELS = 10_000;
const MAX_LABEL_CHARACTERS = 300;
const MAX_MONTHS = 1_200;
const TOTAL_ROW =
  /^(grand |filtered |sub[- ]?)?totals?\b|^(amount|balance) (due|payable)|^invoice (total|amount)\b/i;
/** On a bill of a whole cloud only these services run models. */
const AI_SERVICE = /gemini|generative|vertex|\bai\b|claude/i;

/** All lines of an invoice that say the same, together. */
export interface InvoiceLabel {
  text: string;
  /** Whether the text stood in a column of models, or describes the line in words. */
  isModel: boolean;
  lines: number;
  firstRow: number;
  picodollars: bigint;
}

export interface Invoice {
  layout: string;
  labels: InvoiceLabel[];
  totalPicodollars: bigint;
  /** How many lines are dated in which month (YYYY-MM); lines without a date are in none. */
  linesByMonth: ReadonlyMap<string, number>;
  leftOutLines: number;
}

/** Reads an invoice row by row and keeps only sums, so that its size does not matter. */
export class InvoiceReader {
  readonly #labels = new Map<string, InvoiceLabel>();
  readonly #linesByMonth = new Map<string, number>();
  #columns: InvoiceColumns | null = null;
  #assumed: { mark: Mark; row: number } | null = null;
  #certain: Mark | null = null;
  #leftOutLines = 0;
  #total = 0n;
  #rows = 0;

  /** What is wrong with the file, for people; null while nothing is. */
  take(cells: readonly string[], row: number, delimiter: string): string | null {
    if (this.#columns) return this.#takeLine(this.#columns, cells, row, delimiter);
    this.#rows += 1;
    const [first = '', second = ''] = cells;
    if (/^currency$/i.test(first.trim()) && second.trim() !== '' && !isUsDollars(second))
      return `The invoice is in ${second.trim()}, not in US dollars.`;
    const reading = readColumns(cells);
    if (reading.kind === 'problem') return reading.problem;
    if (reading.kind === 'columns') this.#columns = reading.columns;
    else if (this.#rows >= MAX_HEADER_ROWS) return NO_COLUMNS;
    return null;
  }

  finish(): Invoice | { problem: string } {
    if (!this.#columns) return { problem: NO_COLUMNS };
    if (this.#labels.size === 0) return { problem: 'The file has no line with an amount.' };
    return {
      layout: this.#columns.layout,
      labels: [...this.#labels.values()],
      totalPicodollars: this.#total,
      linesByMonth: this.#linesByMonth,
      leftOutLines: this.#leftOutLines,
    };
  }

  #takeLine(
    columns: InvoiceColumns,
    cells: readonly string[],
    row: number,
    delimiter: string,
  ): string | null {
    const cell = (at: number | null) => (at === null ? '' : (cells[at] ?? '').trim());
    const model = cell(columns.model);
    const text = columns.texts.map(cell).find((candidate) => candidate !== '') ?? '';
    if (isTotal(model, text, cells)) return null;
    const amount = this.#amountOf(columns, cells, row, delimiter);
    if (amount === null) return null;
    if (typeof amount === 'string') return amount;
    const currency = cell(columns.currency);
    if (currency !== '' && !isUsDollars(currency)) return `Row ${row} is in ${currency}, not in US dollars.`;
    const service = cell(columns.service);
    if (service !== '' && model === '' && !AI_SERVICE.test(service)) {
      this.#leftOutLines += 1;
      return null;
    }
    const month = monthOf(cell(columns.date));
    if (month !== null && this.#linesByMonth.size < MAX_MONTHS)
      this.#linesByMonth.set(month, (this.#linesByMonth.get(month) ?? 0) + 1);
    this.#total += amount;
    return this.#add(model !== '' ? model : text, model !== '', row, amount);
  }

  #add(text: string, isModel: boolean, row: number, picodollars: bigint): string | null {
    const shown = text.slice(0, MAX_LABEL_CHARACTERS);
    const key = `${isModel ? 'model' : 'text'} ${shown}`;
    const label = this.#labels.get(key);
    if (label) {
      label.lines += 1;
      label.picodollars += picodollars;
      return null;
    }
    if (this.#labels.size >= MAX_LABELS)
      return `The file names more than ${MAX_LABELS} different models or items; it is not an invoice.`;
    this.#labels.set(key, { text: shown, isModel, lines: 1, firstRow: row, picodollars });
    return null;
  }

  /** Null for a line without an amount. */
  #amountOf(
    { amount }: InvoiceColumns,
    cells: readonly string[],
    row: number,
    delimiter: string,
  ): bigint | string | null {
    if (amount.kind === 'column') return this.#read(cells[amount.at] ?? '', row, delimiter);
    const price = this.#read(cells[amount.price] ?? '', row, delimiter);
    const quantity = this.#read(cells[amount.quantity] ?? '', row, delimiter);
    if (typeof price !== 'bigint' || typeof quantity !== 'bigint')
      return typeof price === 'string' ? price : typeof quantity === 'string' ? quantity : null;
    return (price * quantity) / 10n ** BigInt(AMOUNT_PLACES);
  }

  #read(text: string, row: number, delimiter: string): bigint | string | null {
    // Where commas mark decimals, cells cannot be parted by commas as well.
    const usual = this.#certain ?? (delimiter === ';' ? ',' : '.');
    const reading = readAmount(text, text.includes('.') && !this.#certain ? '.' : usual);
    if (reading.kind === 'empty') return null;
    if (reading.kind === 'problem') return `Row ${row}: ${reading.problem}.`;
    if (reading.decimals) {
      const { mark, certain } = reading.decimals;
      if (this.#certain !== null && mark !== this.#certain) return ambiguous(row);
      if (certain) this.#certain = mark;
      else this.#assumed ??= { mark, row };
      if (this.#certain !== null && this.#assumed && this.#assumed.mark !== this.#certain)
        return ambiguous(this.#assumed.row);
    }
    return reading.picodollars;
  }
}

const NO_COLUMNS =
  'No row with column names was found: one column must hold the cost (such as cost_usd or amount_value) and one the model or line item.';

function ambiguous(row: number): string {
  return `Row ${row}: it is not clear whether a comma or a point marks the decimals in this file.`;
}

function isTotal(model: string, text: string, cells: readonly string[]): boolean {
  if (TOTAL_ROW.test(model) || TOTAL_ROW.test(text)) return true;
  const first = cells.find((cell) => cell.trim() !== '')?.trim() ?? '';
  return model === '' && text === '' && TOTAL_ROW.test(first);
}

/** The month of a date in one of the ways exports write it; null when it cannot be told. */
function monthOf(text: string): string | null {
  if (/^\d{4}-\d{2}/.test(text)) return text.slice(0, 7);
  if (/^\d{10}$/.test(text)) return new Date(Number(text) * 1000).toISOString().slice(0, 7);
  return null;
}
