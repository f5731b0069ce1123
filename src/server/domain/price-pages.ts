import { type CheerioAPI, load } from 'cheerio/slim';
import type { Provider } from '../../contract/providers.ts';
import { type Amount, amountsIn, shiftDecimal, type UnitShift, unitOf } from './price-amounts.ts';
import { readModelTable } from './price-model-tables.ts';
import {
  excerptOf,
  type SourceReading,
  type StatedBucket,
  type StatedPrice,
  type StatedRates,
  withoutContradictions,
} from './price-readings.ts';
import { FOOTNOTE_MARKS, type Role, readGrid, roleOf, type TableGrid } from './price-tables.ts';

const MAX_TABLES = 100;
/** Tables under such a heading price something else than a plain call. */
const OTHER_OFFER = /\b(batch|flex|priority|fast mode|fine-?tun\w*|training|provisioned|long[- ]context)\b/i;
/** Said beside a model's name without making it another model. */
const HARMLESS_NOTE = /\s*\((?:new|beta|deprecated|legacy|retired|recommended)\)\s*$/i;
const PAGE_UNIT =
  /(?:\bper\b|\/)\s*(?:1|one)?\s*(?:m|million|k|thousand|1,000|1,000,000)\s*tok|\/\s*[mk]tok/gi;

/**
 * The prices in a provider's page. What cannot be read for certain is left out and said; a page without any
 * table that can be understood is not believed at all.
 */
export function readPricePage(html: string, provider: Provider, wanted: ReadonlySet<string>): SourceReading {
  if (isCutOff(html)) return { kind: 'failed', reason: 'the page is cut off' };
  const $ = load(html);
  // A raised digit is a footnote; read along, it would turn 4 into 41. What is struck out no longer holds.
  $('script, style, template, noscript, sup, del, s, strike').remove();
  const tables = $('table');
  if (tables.length === 0) return { kind: 'failed', reason: 'the page has no table' };
  if (tables.length > MAX_TABLES) return { kind: 'failed', reason: 'the page has too many tables' };
  const page: Page = { provider, names: namesByLetters(wanted), unit: unitOfPage($) };
  const stated: StatedPrice[] = [];
  const skipped: string[] = [];
  let understood = 0;
  for (const table of tablesWithContext($)) {
    const columns = columnsOf(table.grid, table.about);
    if (columns) {
      if (OTHER_OFFER.test(table.about)) continue;
      understood++;
      readTable(page, table.grid, columns, table.about, stated, skipped);
    } else if (readTableOfModel(page, table, stated, skipped)) understood++;
  }
  if (understood === 0) return { kind: 'failed', reason: 'no table has columns for model, input and output' };
  const { prices, skipped: contradicted } = withoutContradictions(stated);
  if (prices.length === 0) {
    const why = skipped[0] ?? contradicted[0];
    return { kind: 'failed', reason: `no known model was found${why ? ` (${why})` : ''}` };
  }
  return { kind: 'read', prices, skipped: [...skipped, ...contradicted] };
}

function isCutOff(html: string): boolean {
  const count = (pattern: RegExp) => html.match(pattern)?.length ?? 0;
  if (count(/<html\b/gi) > 0 && count(/<\/html\s*>/gi) === 0) return true;
  return count(/<table\b/gi) !== count(/<\/table\s*>/gi);
}

interface Page {
  provider: Provider;
  /** By letters and digits alone, because pages write "GPT-5 mini" for gpt-5-mini; null where two names agree. */
  names: ReadonlyMap<string, string | null>;
  unit: UnitShift | null;
}

function namesByLetters(wanted: ReadonlySet<string>): Map<string, string | null> {
  const names = new Map<string, string | null>();
  for (const name of wanted) names.set(letters(name), names.has(letters(name)) ? null : name);
  return names;
}

function letters(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

/** One unit for the whole page, when the page names no other. */
function unitOfPage($: CheerioAPI): UnitShift | null {
  const said = $('body').text().match(PAGE_UNIT) ?? [];
  const units = new Set(said.map((text) => unitOf(text)));
  return units.size === 1 ? [...units][0]! : null;
}

interface Heading {
  level: number;
  text: string;
  /** The names of models that stand right below it, alone. */
  ids: string[];
}

interface TableInContext {
  grid: TableGrid;
  /** Its caption, the heading before it, the paragraph in between. */
  about: string;
  /** The headings it stands under, the outermost first. */
  headings: Heading[];
}

function tablesWithContext($: CheerioAPI): TableInContext[] {
  const found: TableInContext[] = [];
  let headings: Heading[] = [];
  let paragraph = '';
  $('h1, h2, h3, h4, h5, h6, p, table').each((_, element) => {
    const node = $(element);
    if (node.is('table')) {
      const grid = readGrid($, node);
      const about = `${node.find('caption').text()} ${headings.at(-1)?.text ?? ''} ${paragraph}`;
      if (grid) found.push({ grid, about, headings });
      paragraph = '';
    } else if (node.is('p')) {
      if (node.closest('table').length === 0) paragraph = node.text();
    } else {
      const level = Number(element.tagName.slice(1));
      const ids = idsIn($, node.next().is('table') ? null : node.next());
      headings = [...headings.filter((outer) => outer.level < level), { level, text: node.text(), ids }];
      paragraph = '';
    }
  });
  return found;
}

/** Names in code that are all an element says; in a sentence they may be of any model. */
function idsIn($: CheerioAPI, element: ReturnType<CheerioAPI> | null): string[] {
  if (!element) return [];
  const codes = element.find('code').addBack('code');
  const ids = codes.toArray().map((code) => $(code).text().trim());
  const rest = ids.reduce((text, id) => text.replace(id, ' '), element.text());
  return /^(?:\s|,|\band\b|\bor\b|\/)*$/.test(rest) ? ids : [];
}

/** A heading between a model's name and its table that leaves it the plain price. */
const PLAIN_HEADING = /^\s*(?:standard|paid(?: tier)?|pricing|prices?|text)(?: pricing| prices?)?\s*$/i;

/** Reads a table that stands under the name of a model; false when it does not. */
function readTableOfModel(
  page: Page,
  { grid, about, headings }: TableInContext,
  stated: StatedPrice[],
  skipped: string[],
): boolean {
  const place = headings.findLastIndex((heading) => modelsOf(page, heading).length > 0);
  if (place < 0) return false;
  const models = modelsOf(page, headings[place]!);
  if (headings.some(({ text }) => OTHER_OFFER.test(text))) return true;
  const between = headings.slice(place + 1).find(({ text }) => !PLAIN_HEADING.test(text));
  const why = OTHER_OFFER.test(about)
    ? 'its table is of another offer'
    : between
      ? `its table stands under "${excerptOf(between.text)}"`
      : null;
  const price = why ?? readModelTable(grid, about, page.unit);
  for (const modelId of models) {
    if (typeof price === 'string') {
      skipped.push(`${modelId}: ${price}`);
      continue;
    }
    const rows = grid.rows.map((row) => row.join(' | ')).join(' — ');
    stated.push({
      provider: page.provider,
      model_id: modelId,
      model_family: null,
      context_window: null,
      ...price,
      excerpt: excerptOf(`${headings[place]!.text}: ${grid.headings.join(' | ')} — ${rows}`),
    });
  }
  return true;
}

/** The models we look for that a heading names: by the names below it if it has any, else by itself. */
function modelsOf(page: Page, { text, ids }: Heading): string[] {
  const named = (ids.length > 0 ? ids : [modelName(text)]).map((name) => page.names.get(letters(name)));
  return named.flatMap((name) => (name ? [name] : []));
}

interface Columns {
  model: number;
  rates: Array<{ column: number; role: Extract<Role, { kind: 'rate' | 'pair' }> }>;
  /** Rows that say by a label what their price is for. */
  labelled: { label: number; price: number } | null;
}

/** Null when it is not clear which column is what. */
function columnsOf(grid: TableGrid, about: string): Columns | null {
  const roles = grid.headings.map(roleOf);
  const at = (kind: Role['kind']) => roles.flatMap((role, column) => (role.kind === kind ? [column] : []));
  const model = at('model')[0];
  if (model === undefined || at('model').length > 1) return null;
  const rates = roles.flatMap((role, column) =>
    role.kind === 'rate' || role.kind === 'pair' ? [{ column, role }] : [],
  );
  const named = rates.flatMap(({ role }) => (role.kind === 'rate' ? [role.bucket] : role.order));
  if (new Set(named).size !== named.length) return null;
  const prices = at('price');
  if (named.includes('input') || named.includes('output')) return { model, rates, labelled: null };
  if (prices.length !== 1) return null;
  const label = at('label')[0];
  if (label !== undefined) return { model, rates: [], labelled: { label, price: prices[0]! } };
  const pair = roleOf(about);
  return pair.kind === 'pair' ? { model, rates: [{ column: prices[0]!, role: pair }], labelled: null } : null;
}

function readTable(
  page: Page,
  grid: TableGrid,
  columns: Columns,
  about: string,
  stated: StatedPrice[],
  skipped: string[],
): void {
  const rowsOf = new Map<string, string[][]>();
  for (const row of grid.rows) {
    const name = page.names.get(letters(modelName(row[columns.model] ?? '')));
    if (!name) continue;
    const own = rowsOf.get(name);
    if (own && columns.labelled) own.push(row);
    else if (own) rowsOf.set(`${name}\n${rowsOf.size}`, [row]);
    else rowsOf.set(name, [row]);
  }
  for (const [key, rows] of rowsOf) {
    const modelId = key.split('\n')[0]!;
    const reading = readRows(page, grid, columns, about, rows);
    if (typeof reading === 'string') {
      skipped.push(`${modelId}: ${reading}`);
      continue;
    }
    const said = `${grid.headings.join(' | ')} — ${rows.map((row) => row.join(' | ')).join(' — ')}`;
    stated.push({
      provider: page.provider,
      model_id: modelId,
      model_family: null,
      context_window: null,
      ...reading,
      excerpt: excerptOf(said),
    });
  }
}

function modelName(cell: string): string {
  return cell.replaceAll(FOOTNOTE_MARKS, ' ').trim().replace(HARMLESS_NOTE, '');
}

type Reading = { rates: StatedRates; currency: string };

/** The rates of one model's rows, or why they cannot be read for certain. */
function readRows(
  page: Page,
  grid: TableGrid,
  columns: Columns,
  about: string,
  rows: readonly string[][],
): Reading | string {
  const rates: StatedRates = {};
  const currencies = new Set<string>();
  for (const { cell, heading, role } of cellsOf(grid, columns, rows)) {
    const buckets: readonly StatedBucket[] = role.kind === 'pair' ? role.order : [role.bucket];
    const amounts = amountsIn(cell.replaceAll(FOOTNOTE_MARKS, ' '));
    if (amounts === null) return `"${excerptOf(cell)}" is not a price`;
    if (amounts.length === 0) continue;
    if (amounts.length !== buckets.length) return `"${excerptOf(cell)}" has ${amounts.length} amounts`;
    const unit = unitOf(cell) ?? unitOf(heading) ?? unitOf(about) ?? page.unit;
    if (unit === null) return 'it is not said per how many tokens';
    for (const [index, bucket] of buckets.entries()) {
      const amount = amounts[index]!;
      const currency = currencyOf(amount, heading, about);
      if (currency === null) return 'it is not said in which currency';
      const rate = shiftDecimal(amount.decimal, unit);
      if (rate === null) return `"${excerptOf(cell)}" is not a price per million tokens`;
      if (rates[bucket] !== undefined && rates[bucket] !== rate) return `two prices for ${bucket}`;
      rates[bucket] = rate;
      currencies.add(currency);
    }
  }
  if (rates.input === undefined || rates.output === undefined) return 'no price for input and output';
  if (currencies.size !== 1) return 'prices in more than one currency';
  return { rates, currency: [...currencies][0]! };
}

function currencyOf(amount: Amount, heading: string, about: string): string | null {
  if (amount.currency !== null) return amount.currency;
  return [heading, about].some((text) => /\bUSD\b|US dollars?|(?<![A-Z])\$/i.test(text)) ? 'USD' : null;
}

/** The cells that hold amounts, each with what its column or its row's label says it is for. */
function cellsOf(grid: TableGrid, columns: Columns, rows: readonly string[][]) {
  const { labelled } = columns;
  if (!labelled) {
    return columns.rates.map(({ column, role }) => ({
      cell: rows[0]![column] ?? '',
      heading: grid.headings[column] ?? '',
      role,
    }));
  }
  return rows.flatMap((row) => {
    const role = roleOf(row[labelled.label] ?? '');
    if (role.kind !== 'rate' && role.kind !== 'pair') return [];
    const heading = `${row[labelled.label]} ${grid.headings[labelled.price]}`;
    return [{ cell: row[labelled.price] ?? '', heading, role }];
  });
}
