import { isUsDollars, namesOtherCurrency } from './invoice-amount.ts';

/** Which cells of a row hold what, found by the names of the columns. */
export interface InvoiceColumns {
  layout: string;
  /** One column, or a price and a quantity that are multiplied. */
  amount: { kind: 'column'; at: number } | { kind: 'product'; price: number; quantity: number };
  model: number | null;
  /** Columns with a text that may name the model, the best first. */
  texts: number[];
  currency: number | null;
  date: number | null;
  /** The cloud service a line is of, where a bill is of many. */
  service: number | null;
}

export type ColumnsReading =
  | { kind: 'columns'; columns: InvoiceColumns }
  | { kind: 'none' }
  | { kind: 'problem'; problem: string };

/** In the order of preference: what was charged before what it is called in passing. */
const AMOUNT_NAMES = [
  'amount_value',
  'unrounded_subtotal',
  'unrounded_cost',
  'subtotal',
  'cost',
  'total_cost',
  'billed_cost',
  'net_cost',
  'net_amount',
  'effective_cost',
  'amount',
  'total_amount',
  'billed_amount',
  'charge',
  'charges',
  'line_total',
  'total',
  'total_price',
  'extended_price',
  'spend',
];
const MODEL_NAMES = ['model', 'model_id', 'model_name', 'model_version', 'served_model'];
const TEXT_NAMES = [
  'line_item',
  'sku_description',
  'description',
  'item',
  'item_description',
  'product',
  'product_name',
  'sku',
  'meter',
  'meter_name',
  'resource',
  'name',
  'usage_type',
  'cost_type',
  'service_description',
  'service',
];
const CURRENCY_NAMES = ['amount_currency', 'currency', 'currency_code', 'billing_currency'];
const DATE_NAMES = [
  'usage_date_utc',
  'utc_date',
  'start_time_iso',
  'usage_date',
  'usage_start_date',
  'date',
  'day',
  'start_time',
  'timestamp',
];
const CURRENCY_SUFFIX = /_(usd|eur|gbp|jpy|cny|rmb|inr|chf|cad|aud)$/;

interface ColumnName {
  base: string;
  /** As a bracket or suffix of the name says: `Cost ($)`, `cost_usd`. */
  currency: string | null;
}

export function readColumns(cells: readonly string[]): ColumnsReading {
  const names = cells.map(columnName);
  const find = (wanted: readonly string[]) => {
    for (const name of wanted) {
      const at = names.findIndex(({ base }) => base === name);
      if (at >= 0) return at;
    }
    return null;
  };
  const findAll = (wanted: readonly string[]) =>
    wanted.map((name) => names.findIndex(({ base }) => base === name)).filter((at) => at >= 0);
  const amount = findAmount(find);
  const model = find(MODEL_NAMES);
  const texts = findAll(TEXT_NAMES);
  if (model === null && texts.length === 0) return { kind: 'none' };
  if (amount === null) {
    // The same providers offer exports of tokens alone, which look much alike.
    const isUsage = names.some(({ base }) => /(^|_)tokens$|num_model_requests/.test(base));
    return isUsage
      ? {
          kind: 'problem',
          problem: 'The file counts tokens but has no column with costs; export the costs instead.',
        }
      : { kind: 'none' };
  }
  const amountAt = amount.kind === 'column' ? amount.at : amount.price;
  const { currency } = names[amountAt]!;
  if (currency !== null && !isUsDollars(currency))
    return { kind: 'problem', problem: `The column “${cells[amountAt]}” is not in US dollars.` };
  const columns: InvoiceColumns = {
    layout: layoutOf(new Set(names.map(({ base }) => base)), amount.kind),
    amount,
    model,
    texts,
    currency: find(CURRENCY_NAMES),
    date: find(DATE_NAMES),
    service: find(['service_description']),
  };
  return { kind: 'columns', columns };
}

function findAmount(find: (wanted: readonly string[]) => number | null): InvoiceColumns['amount'] | null {
  const price = find(['price', 'unit_price']);
  const quantity = find(['amount', 'quantity']);
  const cost = find(AMOUNT_NAMES.filter((name) => name !== 'amount'));
  // Some exports call the tokens "amount" and have a price beside them.
  if (cost === null && price !== null && quantity !== null && find(['type', 'unit']) !== null)
    return { kind: 'product', price, quantity };
  const at = find(AMOUNT_NAMES);
  return at === null ? null : { kind: 'column', at };
}

function columnName(cell: string): ColumnName {
  const lower = cell.trim().toLowerCase();
  const bracket = /[([]([^)\]]*)[)\]]\s*$/.exec(lower)?.[1]?.trim() ?? null;
  const isCurrency = bracket !== null && (isUsDollars(bracket) || namesOtherCurrency(bracket));
  const named = isCurrency ? lower.replace(/[([][^)\]]*[)\]]\s*$/, '') : lower;
  const base = named.replaceAll(/[^a-z0-9]+/g, '_').replaceAll(/^_+|_+$/g, '');
  const suffix = CURRENCY_SUFFIX.exec(base)?.[1] ?? null;
  return {
    base: suffix === null ? base : base.replace(CURRENCY_SUFFIX, ''),
    currency: isCurrency ? bracket : suffix,
  };
}

function layoutOf(names: ReadonlySet<string>, amount: InvoiceColumns['amount']['kind']): string {
  if (amount === 'product') return 'price_and_quantity';
  if (names.has('amount_value') && names.has('line_item')) return 'openai_costs';
  if (names.has('usage_date_utc') && names.has('model')) return 'anthropic_costs';
  if (names.has('sku_description')) return 'google_cloud_billing';
  return 'generic';
}
