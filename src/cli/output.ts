import { type Colours, makeColours } from './colours.ts';
import type { Host } from './host.ts';
import { type Column, layFields, layTable } from './table.ts';

const DEFAULT_COLUMNS = 80;

/** Data goes to stdout; everything said about it goes to stderr. */
export interface Output {
  colours: Colours;
  /** Terminal cells of stdout; null when it is not a terminal. */
  width: number | null;
  line(text: string): void;
  json(value: unknown): void;
  table<Row>(columns: Column<Row>[], rows: Row[]): void;
  fields(fields: Array<[label: string, value: string]>): void;
  note(text: string): void;
  done(text: string): void;
  warn(text: string): void;
  complain(sentence: string, code: string, next: string): void;
}

export function makeOutput(host: Host, colourAllowed: boolean): Output {
  const isTerminal = host.stdout.isTTY === true;
  const colours = makeColours(colourAllowed && isTerminal);
  // Without a terminal on stdout there is no colour anywhere: both often end in the same log.
  const asides = makeColours(colourAllowed && isTerminal && host.stderr.isTTY === true);
  const width = isTerminal ? (host.stdout.columns ?? DEFAULT_COLUMNS) : null;
  const line = (text: string) => void host.stdout.write(`${text}\n`);
  const note = (text: string) => void host.stderr.write(`${text}\n`);
  return {
    colours,
    width,
    line,
    note,
    json: (value) => line(JSON.stringify(value, null, 2)),
    table: (columns, rows) => line(layTable(columns, rows, { width, colours }).join('\n')),
    fields: (fields) => line(layFields(fields, colours).join('\n')),
    done: (text) => note(`${asides.green('✓')} ${text}`),
    warn: (text) => note(`${asides.yellow('!')} ${text}`),
    complain(sentence, code, next) {
      note(`${asides.red('error:')} ${sentence} (${code})`);
      note(`${asides.bold('Try:')} ${next}`);
    },
  };
}
