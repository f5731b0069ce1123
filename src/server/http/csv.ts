import { Readable } from 'node:stream';
import { stringify } from 'csv-stringify/sync';
import type { CsvFile } from '../api/handler.ts';

/** A spreadsheet would run these as formulas; a plain negative number it would not. */
const FORMULA_START = /^(?!-?\d+(\.\d+)?$)[=+\-@\t\r]/;
const ROWS_PER_WRITE = 200;

function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
    return String(value);
  if (value instanceof Date) return value.toISOString();
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return FORMULA_START.test(text) ? `'${text}` : text;
}

/** The file as a stream that reads the next rows only when the client has taken the last ones. */
export function csvStream(file: CsvFile): Readable {
  return Readable.from(encode(file), { objectMode: false });
}

async function* encode(file: CsvFile): AsyncGenerator<string> {
  let lines: string[][] = [[...file.columns]];
  for await (const row of file.rows) {
    lines.push(row.map(cell));
    if (lines.length < ROWS_PER_WRITE) continue;
    yield stringify(lines, { record_delimiter: '\r\n' });
    lines = [];
  }
  if (lines.length > 0) yield stringify(lines, { record_delimiter: '\r\n' });
}
