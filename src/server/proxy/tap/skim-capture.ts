import type { SkimNode } from './skim-shape.ts';

/** A wanted value larger than this is not kept: real usage objects are a few hundred bytes. */
const MAX_VALUE_BYTES = 256 * 1024;
/** Repeated paths (`output[].type`) stop being recorded here. */
const MAX_REPEATED_VALUES = 10_000;
const MAX_SHORT_STRING_BYTES = 66;

/** Holds the bytes of the one wanted value that is being passed over, across as many pieces as it takes. */
export class SkimCapture {
  private node: SkimNode | null = null;
  private from = 0;
  private held: Buffer[] = [];
  private heldBytes = 0;

  get active(): boolean {
    return this.node !== null;
  }

  begin(node: SkimNode, at: number): void {
    this.node = node;
    this.from = at;
  }

  /** A new piece starts: what follows of the value begins at its first byte. */
  resume(start: number): void {
    this.from = start;
  }

  hold(bytes: Buffer, end: number): void {
    this.heldBytes += end - this.from;
    if (this.heldBytes > MAX_VALUE_BYTES) this.drop();
    // Copied, because the piece belongs to whoever reads the socket and may be used again.
    else this.held.push(Buffer.from(bytes.subarray(this.from, end)));
  }

  drop(): void {
    this.node = null;
    if (this.heldBytes === 0) return;
    this.held = [];
    this.heldBytes = 0;
  }

  /** The value ends before `past`: parses it and puts it among the document's values. */
  finish(bytes: Buffer, past: number, values: Record<string, unknown>): void {
    const path = this.node?.path;
    const repeated = this.node?.repeated;
    const value = this.parse(bytes, past);
    this.drop();
    if (path === undefined || path === null || value === undefined) return;
    if (!repeated) {
      values[path] = value;
      return;
    }
    values[path] ??= [];
    const list = values[path] as unknown[];
    if (list.length < MAX_REPEATED_VALUES) list.push(value);
  }

  private parse(bytes: Buffer, past: number): unknown {
    const length = this.heldBytes + past - this.from;
    if (length > MAX_VALUE_BYTES) return undefined;
    if (this.heldBytes > 0) {
      return parseJson(Buffer.concat([...this.held, bytes.subarray(this.from, past)]).toString('utf8'));
    }
    // `"usage":null` stands on every chunk of many streams.
    if (length === 4 && bytes[this.from] === 0x6e) return null;
    return parseShortString(bytes, this.from, past) ?? parseJson(bytes.toString('utf8', this.from, past));
  }
}

/** A short string of plain ASCII, as model names and event types are, needs no parser; else undefined. */
function parseShortString(bytes: Buffer, from: number, past: number): string | undefined {
  if (bytes[from] !== 0x22 || past - from > MAX_SHORT_STRING_BYTES) return undefined;
  for (let at = from + 1; at < past - 1; at += 1) {
    const byte = bytes[at]!;
    if (byte === 0x5c || byte < 0x20 || byte > 0x7e) return undefined;
  }
  return bytes.toString('latin1', from + 1, past - 1);
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
