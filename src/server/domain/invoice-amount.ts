/**
 * Amounts as people and programs write them into invoices, read exactly: whole picodollars, no floating point.
 * What cannot be read with certainty is a problem, never a guess.
 */
export const AMOUNT_PLACES = 12;
const MAX_DIGITS = 60;
const MAX_EXPONENT = 15;
const MAX_PICODOLLARS = 10n ** BigInt(12 + AMOUNT_PLACES);

const OTHER_CURRENCY =
  /[€£¥₹₩₽₺฿]|\b(EUR|GBP|JPY|CNY|RMB|INR|KRW|CHF|CAD|AUD|BRL|SEK|NOK|DKK|PLN|HKD|SGD|TWD)\b/i;
const NUMBER =
  /^(?<before>-?)(?:US\$|USD|\$)?(?<inside>[-+]?)(?<digits>\d[\d.,]*|[.,]\d+)(?:e(?<exponent>[+-]?\d{1,6}))?(?:USD|US\$|\$)?(?<after>-?|CR)$/i;

export type Mark = '.' | ',';

export type AmountReading =
  | { kind: 'amount'; picodollars: bigint; decimals: { mark: Mark; certain: boolean } | null }
  | { kind: 'empty' }
  | { kind: 'problem'; problem: string };

/** Which other currency a text names, if it names one. */
export function namesOtherCurrency(text: string): boolean {
  return OTHER_CURRENCY.test(text);
}

export function isUsDollars(text: string): boolean {
  return /^(usd|us\$|\$|us dollars?|dollars?)$/i.test(text.trim());
}

/**
 * `usual` is the decimal mark to assume where a number does not show it: `1,234` is a thousand and some with a
 * decimal point, and one and some with a decimal comma. The reading says what was taken, so that a file which
 * later contradicts it can be refused.
 */
export function readAmount(text: string, usual: Mark): AmountReading {
  if (namesOtherCurrency(text)) return { kind: 'problem', problem: `“${text.trim()}” is not in US dollars` };
  let bare = text.replaceAll(/[\u2212\u2013]/g, '-').replaceAll(/[\s\u00a0\u202f'’]/g, '');
  if (bare === '' || bare === '-' || /^(n\/?a|null|none)$/i.test(bare)) return { kind: 'empty' };
  const bracketed = /^\((.*)\)$/.exec(bare);
  if (bracketed) bare = bracketed[1]!;
  const found = NUMBER.exec(bare);
  if (!found?.groups) return { kind: 'problem', problem: `“${text.trim().slice(0, 40)}” is not an amount` };
  const { before, inside, digits, exponent = '0', after } = found.groups;
  const marked = splitDecimals(digits!, usual);
  if (marked === null) return { kind: 'problem', problem: `“${text.trim().slice(0, 40)}” is not an amount` };
  const value = scaled(marked.whole + marked.fraction, Number(exponent) - marked.fraction.length);
  if (value === null || value > MAX_PICODOLLARS)
    return { kind: 'problem', problem: `“${text.trim().slice(0, 40)}” is too large an amount` };
  const minuses = [bracketed ? '-' : '', before, inside === '-' ? '-' : '', after ? '-' : ''].filter(Boolean);
  if (minuses.length > 1) return { kind: 'problem', problem: `“${text.trim()}” is not an amount` };
  return {
    kind: 'amount',
    picodollars: minuses.length === 1 ? -value : value,
    decimals: marked.decimals,
  };
}

type Split = {
  whole: string;
  fraction: string;
  decimals: { mark: Mark; certain: boolean } | null;
};

function splitDecimals(digits: string, usual: Mark): Split | null {
  const lastPoint = digits.lastIndexOf('.');
  const lastComma = digits.lastIndexOf(',');
  if (lastPoint < 0 && lastComma < 0) return { whole: digits, fraction: '', decimals: null };
  // With both, the one further right is the decimal mark.
  if (lastPoint >= 0 && lastComma >= 0) return splitAt(digits, lastPoint > lastComma ? '.' : ',', true);
  const mark: Mark = lastPoint >= 0 ? '.' : ',';
  const other: Mark = mark === '.' ? ',' : '.';
  const grouped = /^[1-9]\d{0,2}([.,]\d{3})+$/.test(digits);
  const once = digits.indexOf(mark) === digits.lastIndexOf(mark);
  if (!once) return grouped ? splitAt(digits, other, true) : null;
  if (!grouped) return splitAt(digits, mark, true);
  return splitAt(digits, usual === mark ? mark : other, false);
}

/** `mark` is the decimal mark; the other one groups thousands, and must do so properly. */
function splitAt(digits: string, mark: Mark, certain: boolean): Split | null {
  const grouping = mark === '.' ? ',' : '.';
  const [whole = '', fraction = '', more] = digits.split(mark);
  if (more !== undefined || fraction.includes(grouping)) return null;
  if (whole.includes(grouping) && !/^\d{1,3}([.,]\d{2,3})*[.,]\d{3}$/.test(whole)) return null;
  return { whole: whole.replaceAll(grouping, ''), fraction, decimals: { mark, certain } };
}

/** digits × 10^power in picodollars, rounded half away from zero past the last place; null when absurd. */
function scaled(digits: string, power: number): bigint | null {
  const significant = digits.replace(/^0+/, '');
  if (significant === '') return 0n;
  if (significant.length > MAX_DIGITS || power > MAX_EXPONENT) return null;
  const shift = AMOUNT_PLACES + power;
  if (shift >= 0) return BigInt(significant) * 10n ** BigInt(shift);
  if (-shift > significant.length) return 0n;
  const divisor = 10n ** BigInt(-shift);
  return (BigInt(significant) * 2n + divisor) / (divisor * 2n);
}

/** Dollars with six decimals at least, and as many more as there are. */
export function formatPicodollars(picodollars: bigint): string {
  const sign = picodollars < 0n ? '-' : '';
  const digits = (picodollars < 0n ? -picodollars : picodollars).toString().padStart(AMOUNT_PLACES + 1, '0');
  const fraction = digits.slice(-AMOUNT_PLACES).replace(/0{1,6}$/, '');
  return `${sign}${digits.slice(0, -AMOUNT_PLACES)}.${fraction}`;
}
