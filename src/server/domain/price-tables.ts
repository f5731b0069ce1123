import type { Cheerio, CheerioAPI } from 'cheerio/slim';
import type { StatedBucket } from './price-readings.ts';

/** A table as a page shows it: cells that span rows and columns stand in each place they cover. */
export interface TableGrid {
  /** Each column's headings from top to bottom, joined. */
  headings: string[];
  rows: string[][];
}

const MAX_ROWS = 2_000;
const MAX_COLUMNS = 64;

type Elements = ReturnType<CheerioAPI>;
interface Cell {
  text: string;
  heading: boolean;
}

export function readGrid($: CheerioAPI, table: Elements): TableGrid | null {
  const grid: Cell[][] = [];
  const headRows = new Set<number>();
  const rows = table.find('tr').filter((_, row) => $(row).closest('table').is(table));
  if (rows.length > MAX_ROWS) return null;
  rows.each((rowIndex, row) => {
    if ($(row).closest('thead').length > 0) headRows.add(rowIndex);
    $(row)
      .children('td, th')
      .each((_, cell) => placeCell($, $(cell), grid, rowIndex, rows.length));
  });
  const headings = headingRows(grid, headRows);
  const width = Math.max(0, ...grid.map((row) => row?.length ?? 0));
  if (headings === 0 || width === 0) return null;
  return {
    headings: Array.from({ length: width }, (_, column) => headingOf(grid.slice(0, headings), column)),
    rows: grid
      .slice(headings)
      .map((row) => Array.from({ length: width }, (_, column) => row?.[column]?.text ?? '')),
  };
}

function placeCell($: CheerioAPI, cell: Elements, grid: Cell[][], rowIndex: number, rowCount: number): void {
  grid[rowIndex] ??= [];
  let column = 0;
  while (grid[rowIndex][column] !== undefined) column++;
  const columns = span(cell.attr('colspan'), MAX_COLUMNS - column);
  const rows = span(cell.attr('rowspan'), rowCount - rowIndex);
  const placed = { text: textOf($, cell), heading: cell.is('th') };
  for (let down = 0; down < rows; down++) {
    grid[rowIndex + down] ??= [];
    for (let right = 0; right < columns; right++) grid[rowIndex + down]![column + right] ??= placed;
  }
}

/** `rowspan="0"` means to the end, as browsers have it. */
function span(text: string | undefined, most: number): number {
  const number = /^\d{1,4}$/.test(text ?? '') ? Number(text) : 1;
  return Math.max(1, Math.min(number === 0 ? most : number, most));
}

/** Line breaks and block ends separate words that markup alone keeps apart. */
function textOf($: CheerioAPI, cell: Cheerio<never> | Elements): string {
  const copy = (cell as Elements).clone();
  copy.find('br, p, div, li').each((_, element) => {
    $(element).before(' ').after(' ');
  });
  return copy.text().replaceAll(/\s+/g, ' ').trim();
}

/** How many rows at the top are headings: those marked so, else one. */
function headingRows(grid: readonly Cell[][], headRows: ReadonlySet<number>): number {
  let count = 0;
  for (const [index, row] of grid.entries()) {
    const filled = (row ?? []).filter((cell) => cell.text !== '');
    if (!headRows.has(index) && !(filled.length > 0 && filled.every((cell) => cell.heading))) break;
    count = index + 1;
  }
  return count === 0 ? Math.min(1, grid.length) : count;
}

function headingOf(rows: readonly Cell[][], column: number): string {
  const texts = rows.map((row) => row?.[column]?.text ?? '').filter((text) => text !== '');
  return [...new Set(texts)].join(' ');
}

/** Marks that lead to a note below; they are no part of what they stand beside. */
export const FOOTNOTE_MARKS = /[*†‡§¹²³⁴⁵⁶⁷⁸⁹⁰]+|\[\w{1,3}\]/g;

/** What a column, or the label of a row, is about. */
export type Role =
  | { kind: 'model' }
  | { kind: 'rate'; bucket: StatedBucket }
  /** Two amounts in one cell, in this order. */
  | { kind: 'pair'; order: readonly ['input', 'output'] | readonly ['output', 'input'] }
  /** Names what the amount in the price column of its row is for. */
  | { kind: 'label' }
  | { kind: 'price' }
  | { kind: 'other' };

/** Special offers, other media, other units: never the plain price of a token. */
const SPECIAL =
  /\b(batch|flex|priority|fast|fine-?tun\w*|training|storage|audio|image|video|search|provisioned|discount|savings?|free)\b/i;
const LONG_CONTEXT = /[>≥]\s*\d|\b(over|above|more than|exceeding)\s+\d|\blong[- ]context\b/i;

export function isSpecialOffer(heading: string): boolean {
  return SPECIAL.test(heading) || LONG_CONTEXT.test(heading);
}

export function roleOf(heading: string): Role {
  const text = heading.toLowerCase();
  if (isSpecialOffer(text)) return { kind: 'other' };
  const input = /\b(input|prompt)\b/.exec(text);
  const output = /\b(output|completion)\b/.exec(text);
  if (input && output) {
    return { kind: 'pair', order: input.index < output.index ? ['input', 'output'] : ['output', 'input'] };
  }
  if (/\bcach(e|ed|ing)\b/.test(text)) {
    if (output) return { kind: 'other' };
    if (/\b(write|writes|creation)\b/.test(text)) {
      return {
        kind: 'rate',
        bucket: /\b(1 ?h|1[- ]hour|one[- ]hour)\b/.test(text) ? 'cache_write_1h' : 'cache_write_5m',
      };
    }
    return { kind: 'rate', bucket: 'cached_read' };
  }
  if (input) return { kind: 'rate', bucket: 'input' };
  if (output) return { kind: 'rate', bucket: 'output' };
  if (/^(ai )?models?( name| id)?\b/.test(text)) return { kind: 'model' };
  if (/\b(price|pricing|cost|rate)s?\b/.test(text)) return { kind: 'price' };
  if (/\b(type|kind|usage|token type|item|meter)\b/.test(text)) return { kind: 'label' };
  return { kind: 'other' };
}
