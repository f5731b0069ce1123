import { amountsIn, shiftDecimal, type UnitShift, unitOf } from './price-amounts.ts';
import { excerptOf, type StatedBucket, type StatedLongContext, type StatedRates } from './price-readings.ts';
import { FOOTNOTE_MARKS, isSpecialOffer, roleOf, type TableGrid } from './price-tables.ts';

/**
 * Tables that price one model each, named by the heading above them: rows for input, output and cache, a column for
 * those who pay. A cell may hold several amounts, each with a few words on when it holds; every word must be known,
 * or the model is not read.
 */
export interface ModelTablePrice {
  rates: StatedRates;
  long_context?: StatedLongContext;
  currency: string;
}

/** What an amount in a cell is for. */
type Part =
  | { kind: 'base'; upTo: number | null }
  | { kind: 'long'; above: number }
  | { kind: 'audio' }
  /** Priced by something else than tokens read or written, or of a medium without a rate of its own. */
  | { kind: 'aside' };

const AMOUNT_START = /(?=(?<![A-Za-z])(?:US\$|\$|€|£|¥)\s*\d)/;
const AMOUNT = /^(?:US\$|\$|€|£|¥)\s*[\d.,]*\d/;
const PER_TOKENS = /^(?:per|\/)\s*(?:1|one)?\s*(?:m|million|1,000,000)\s*tok(?:en)?s?$/i;
const PROMPT_SIZE =
  /^(?:for )?(?:prompts?|context|inputs?)?\s*(?<sign><=|≤|up to|>|over|above)\s*(?<count>\d{1,4})\s*(?<unit>k|m)(?: tok(?:en)?s?)?$/i;
const MEDIA =
  /^\(?(?<list>(?:text|images?|videos?|audio|documents?|pdf)(?:\s*(?:\/|,|and|or|&)\s*(?:text|images?|videos?|audio|documents?|pdf))*)\)?$/i;
const STORAGE = /\bstorage\b|\bper hour\b/i;
/** Said in brackets after what a row is for, without narrowing it. */
const LABEL_NOTE = /\((?:including|incl\.?)\b[^)]*\)/gi;

/** The rates in a model's table, or why they cannot be read for certain. */
export function readModelTable(
  grid: TableGrid,
  about: string,
  pageUnit: UnitShift | null,
): ModelTablePrice | string {
  const column = priceColumn(grid);
  if (column === null) return 'it is not clear which column holds the price';
  const rates: StatedRates = {};
  const longRates: StatedRates = {};
  const thresholds = new Set<number>();
  const currencies = new Set<string>();
  const put = (into: StatedRates, bucket: StatedBucket, rate: string) => {
    if (into[bucket] !== undefined && into[bucket] !== rate) return `two prices for ${bucket}`;
    into[bucket] = rate;
    return null;
  };
  for (const row of grid.rows) {
    const role = roleOf((row[0] ?? '').replaceAll(LABEL_NOTE, ' '));
    if (role.kind !== 'rate') continue;
    const cell = row[column] ?? '';
    const unit = unitOf(grid.headings[column] ?? '') ?? unitOf(row[0] ?? '') ?? unitOf(about) ?? pageUnit;
    const parts = readCell(cell, unit);
    if (typeof parts === 'string') return parts;
    if (parts.length > 0 && !parts.some(({ part }) => part.kind === 'base'))
      return `"${excerptOf(cell)}" has no price for text`;
    for (const { part, rate, currency } of parts) {
      currencies.add(currency);
      const isAudioInput = part.kind === 'audio' && role.bucket === 'input';
      let problem: string | null = null;
      if (part.kind === 'base') problem = put(rates, role.bucket, rate);
      if (part.kind === 'long') problem = put(longRates, role.bucket, rate);
      if (isAudioInput) problem = put(rates, 'audio_input', rate);
      if (problem) return problem;
      if (part.kind === 'long') thresholds.add(part.above);
      if (part.kind === 'base' && part.upTo !== null) thresholds.add(part.upTo);
    }
  }
  return priceOf({ rates, longRates, thresholds, currencies });
}

function priceOf(read: {
  rates: StatedRates;
  longRates: StatedRates;
  thresholds: ReadonlySet<number>;
  currencies: ReadonlySet<string>;
}): ModelTablePrice | string {
  const { rates, longRates, thresholds, currencies } = read;
  if (rates.input === undefined || rates.output === undefined) return 'no price for input and output';
  if (currencies.size !== 1) return 'prices in more than one currency';
  if (thresholds.size > 1) return 'more than one price for long prompts';
  const [threshold] = thresholds;
  const hasLong = Object.keys(longRates).length > 0;
  if (hasLong !== (threshold !== undefined)) return 'a price for short prompts and none for long ones';
  return {
    rates,
    currency: [...currencies][0]!,
    ...(threshold !== undefined && { long_context: { threshold_tokens: threshold, rates: longRates } }),
  };
}

/** The one column besides the labels that is no special offer; null when there are several or none. */
function priceColumn(grid: TableGrid): number | null {
  const columns = grid.headings.flatMap((heading, at) => (at > 0 && !isSpecialOffer(heading) ? [at] : []));
  return columns.length === 1 ? columns[0]! : null;
}

function readCell(
  cell: string,
  unit: UnitShift | null,
): Array<{ part: Part; rate: string; currency: string }> | string {
  const text = cell.replaceAll(FOOTNOTE_MARKS, ' ').trim();
  const [before = '', ...pieces] = AMOUNT.test(text)
    ? ['', ...text.split(AMOUNT_START)]
    : text.split(AMOUNT_START);
  // No amount at all: free, or not to be had.
  if (pieces.length === 0) return [];
  if (before.trim() !== '') return `"${excerptOf(cell)}" says something before its price`;
  const read: Array<{ part: Part; rate: string; currency: string }> = [];
  for (const piece of pieces) {
    const words = piece.replace(AMOUNT, '').replaceAll(/^[\s,;:]+|[\s,;.]+$/g, '');
    const part = partOf(words);
    if (part === null) return `"${excerptOf(cell)}" cannot be read for certain`;
    if (part.kind === 'aside') continue;
    const amounts = amountsIn(AMOUNT.exec(piece)![0]);
    if (amounts?.length !== 1) return `"${excerptOf(cell)}" is not a price`;
    if (unit === null) return 'it is not said per how many tokens';
    const rate = shiftDecimal(amounts[0]!.decimal, unit);
    if (rate === null) return `"${excerptOf(cell)}" is not a price per million tokens`;
    read.push({ part, rate, currency: amounts[0]!.currency ?? '' });
  }
  return read;
}

/** Null for words that nobody here knows. */
function partOf(words: string): Part | null {
  if (words === '' || PER_TOKENS.test(words)) return { kind: 'base', upTo: null };
  if (STORAGE.test(words)) return { kind: 'aside' };
  const size = PROMPT_SIZE.exec(words)?.groups;
  if (size) {
    const tokens = Number(size.count) * (size.unit!.toLowerCase() === 'k' ? 1_000 : 1_000_000);
    return /^[<≤u]/i.test(size.sign!) ? { kind: 'base', upTo: tokens } : { kind: 'long', above: tokens };
  }
  const media = MEDIA.exec(words)?.groups?.list?.toLowerCase();
  if (media === undefined) return null;
  if (/\btext\b/.test(media)) return /\baudio\b/.test(media) ? null : { kind: 'base', upTo: null };
  return media === 'audio' ? { kind: 'audio' } : { kind: 'aside' };
}
