/**
 * Amounts of money and their units as price pages write them. Whatever is not certain is null: a price that
 * is not read costs a look, a price that is read wrongly costs money.
 */
export interface Amount {
  /** An exact decimal, with a minus sign if it has one. */
  decimal: string;
  /** USD, or the sign or code of another currency; null when none stands beside the number. */
  currency: string | null;
}

const PLACES = 6;
/** Sums in public catalogues are doubles; beyond this many digits they hold nothing their author wrote. */
const SIGNIFICANT_DIGITS = 12;

const SIGN = '(?<![A-Za-z])(?:[A-Z]{1,2}\\$|\\$|€|£|¥|₹|USD|EUR|GBP|CNY|RMB|JPY|INR)';
const NUMBER = '\\d[\\d.,]*';
const AMOUNTS = new RegExp(
  `(?<lead>[-−]?)\\s*(?<before>${SIGN})\\s*(?<inner>[-−]?)(?<amount>${NUMBER})|(?<bare>${NUMBER})\\s*(?<after>USD|EUR|GBP|CNY|RMB|JPY|INR|€|£|¥|元)`,
  'g',
);
const ALL_NUMBER = /^[-−]?\d[\d.,]*$/;
const US_DOLLARS = new Set(['$', 'US$', 'USD', 'U$']);

/** Every amount in a text, in order; null when one of them cannot be read for certain. */
export function amountsIn(text: string): Amount[] | null {
  const found: Amount[] = [];
  for (const { groups } of text.matchAll(AMOUNTS)) {
    const { lead, before, inner, amount, bare, after } = groups!;
    const decimal = plainDecimal(amount ?? bare ?? '');
    if (decimal === null) return null;
    const negative = (lead ?? '') !== '' || (inner ?? '') !== '';
    const sign = before ?? after ?? '';
    found.push({
      decimal: negative ? `-${decimal}` : decimal,
      currency: US_DOLLARS.has(sign) ? 'USD' : sign,
    });
  }
  if (found.length > 0 || !ALL_NUMBER.test(text.trim())) return found;
  const lone = plainDecimal(text.trim().replace(/^[-−]/, ''));
  if (lone === null) return null;
  return [{ decimal: /^[-−]/.test(text.trim()) ? `-${lone}` : lone, currency: null }];
}

/** Commas are taken as thousands, and only where they stand as such. */
function plainDecimal(text: string): string | null {
  const number = text.replace(/[.,]$/, '');
  if (/^\d+(\.\d+)?$/.test(number)) return number;
  return /^\d{1,3}(,\d{3})+(\.\d+)?$/.test(number) ? number.replaceAll(',', '') : null;
}

/** By how many decimal places an amount must be shifted to be one per million tokens. */
export type UnitShift = 0 | 3 | 6;

const PER = '(?:\\bper\\b|/)\\s*(?:US\\$|\\$)?\\s*';
const UNITS: ReadonlyArray<{ shift: UnitShift; pattern: RegExp }> = [
  {
    shift: 0,
    pattern: new RegExp(
      `${PER}(?:(?:1|one|a)\\s*)?(?:million|mtok|m)s?\\b|${PER}1[,. ]?000[,. ]?000\\b`,
      'i',
    ),
  },
  {
    shift: 3,
    pattern: new RegExp(
      `${PER}(?:(?:1|one|a)\\s*)?(?:thousand|ktok|k)s?\\b|${PER}1[,. ]?000\\b(?![,. ]?000)`,
      'i',
    ),
  },
  { shift: 6, pattern: new RegExp(`${PER}(?:(?:1|one|a)\\s+)?token\\b`, 'i') },
];

/** The unit a text names; null when it names none, or more than one. */
export function unitOf(text: string): UnitShift | null {
  const named = UNITS.filter(({ pattern }) => pattern.test(text));
  return named.length === 1 ? named[0]!.shift : null;
}

/**
 * A decimal moved by so many places to the right, in its shortest form. Null when it is no decimal, or would
 * need more places than a price has.
 */
export function shiftDecimal(text: string, places: number): string | null {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d{1,3}))?$/i.exec(text);
  if (!match) return null;
  const [, sign, whole, fraction = '', exponent = '0'] = match;
  const shift = places + Number(exponent);
  const digits = whole! + fraction;
  const point = whole!.length + shift;
  const padded = point <= 0 ? '0'.repeat(1 - point) + digits : digits.padEnd(point, '0');
  const at = point <= 0 ? 1 : point;
  const before = padded.slice(0, at).replace(/^0+(?=\d)/, '');
  const after = padded.slice(at).replace(/0+$/, '');
  if (after.length > PLACES || before.length > PLACES * 2) return null;
  const plain = after === '' ? before : `${before}.${after}`;
  return plain === '0' ? '0' : `${sign}${plain}`;
}

/** A number of a JSON catalogue, moved by so many places; null when it is none that a price could be. */
export function decimalOfNumber(value: unknown, places: number): string | null {
  if (typeof value === 'string') return shiftDecimal(value, places);
  if (typeof value !== 'number' || !Number.isFinite(value)) return null;
  return shiftDecimal(String(Number(value.toPrecision(SIGNIFICANT_DIGITS))), places);
}
