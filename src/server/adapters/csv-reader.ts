import { pipeline, Readable } from 'node:stream';
import { parse } from 'csv-parse';

/** Enough to tell the encoding and the delimiter by. */
const SAMPLE_BYTES = 64 * 1024;
const SAMPLE_LINES = 60;
const MAX_RECORD_CHARACTERS = 256 * 1024;
const DELIMITERS = [',', ';', '\t', '|'] as const;

/** The file is not a CSV file that can be read; the message says why, for people. */
export class CsvProblem extends Error {
  override readonly name = 'CsvProblem';
}

export interface CsvRecord {
  /** Counted from 1, empty lines left out. */
  row: number;
  cells: string[];
  delimiter: string;
}

/**
 * The records of a CSV file as they come, whatever wrote it: UTF-8 or UTF-16 in either order, with a byte order
 * mark or without, comma, semicolon, tab or bar between the cells. No more of it is in memory than is being read.
 */
export async function* readCsv(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<CsvRecord> {
  const source = bytes[Symbol.asyncIterator]();
  const sample = await readSample(source);
  if (sample.length === 0) throw new CsvProblem('The file is empty.');
  const encoding = encodingOf(sample);
  const delimiter = delimiterOf(new TextDecoder(encoding).decode(sample));
  const parser = parse({
    delimiter,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: MAX_RECORD_CHARACTERS,
  });
  pipeline(Readable.from(textOf(sample, source, encoding)), parser, () => {});
  let row = 0;
  try {
    for await (const cells of parser) yield { row: ++row, cells: cells as string[], delimiter };
  } catch (error) {
    const code = (error as { code?: unknown }).code;
    if (typeof code === 'string' && code.startsWith('CSV_'))
      throw new CsvProblem(`The file is not well-formed CSV after row ${row}.`, { cause: error });
    throw error;
  }
}

async function readSample(source: AsyncIterator<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  while (length < SAMPLE_BYTES) {
    const next = await source.next();
    if (next.done) break;
    chunks.push(next.value);
    length += next.value.length;
  }
  return Buffer.concat(chunks, length);
}

async function* textOf(
  sample: Uint8Array,
  source: AsyncIterator<Uint8Array>,
  encoding: string,
): AsyncGenerator<string> {
  // A byte order mark is taken off by the decoder.
  const decoder = new TextDecoder(encoding);
  yield checked(decoder.decode(sample, { stream: true }));
  for (;;) {
    const next = await source.next();
    if (next.done) break;
    yield checked(decoder.decode(next.value, { stream: true }));
  }
  yield checked(decoder.decode());
}

function checked(text: string): string {
  if (text.includes('\0')) throw new CsvProblem('The file is not text.');
  return text;
}

/** Without a mark, text that is mostly ASCII shows UTF-16 by its zero bytes. */
function encodingOf(sample: Uint8Array): string {
  const [first, second] = sample;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  if (first !== 0 && second === 0) return 'utf-16le';
  if (first === 0 && second !== 0 && second !== undefined) return 'utf-16be';
  return 'utf-8';
}

/** The one that splits a line into the most cells: the line with the column names, as a rule. */
function delimiterOf(text: string): string {
  const lines = text.replaceAll(/"[^"]*"/g, '').split(/\r\n|\n|\r/, SAMPLE_LINES);
  let best: { delimiter: string; cells: number } = { delimiter: ',', cells: 1 };
  for (const delimiter of DELIMITERS) {
    const cells = Math.max(...lines.map((line) => line.split(delimiter).length));
    if (cells > best.cells) best = { delimiter, cells };
  }
  return best.delimiter;
}
