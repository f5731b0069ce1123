const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const DATA_FIELD = Buffer.from('data:');
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);
const NEWLINE = Buffer.from('\n');

const NAME = 0;
const DATA_START = 1;
const DATA = 2;
const IGNORED = 3;

export interface SseSink {
  /** One piece of the current event's data; the pieces joined are the data. */
  data(bytes: Buffer, start: number, end: number): void;
  /** The event is complete. Events without data are not reported. */
  event(): void;
}

/**
 * Reads the lines of a server-sent-event stream from bytes cut anywhere and hands the data on as it stands in
 * the incoming buffers, so an event of any size costs no memory here. Other fields than `data` are not wanted:
 * every provider repeats the event's kind inside its JSON.
 */
export class SseReader {
  private readonly sink: SseSink;
  private bomMatched = 0;
  private field = NAME;
  private nameMatched = 0;
  private lineEmpty = true;
  private eventHasData = false;
  /** The last line ended in CR: an LF right after it is the same line end. */
  private afterCr = false;

  constructor(sink: SseSink) {
    this.sink = sink;
  }

  push(bytes: Buffer): void {
    let at = this.bomMatched < BOM.length ? this.pastBom(bytes) : 0;
    let lf = -1;
    let cr = -1;
    while (at < bytes.length) {
      if (this.afterCr) {
        this.afterCr = false;
        if (bytes[at] === LF) {
          at += 1;
          continue;
        }
      }
      if (lf < at) lf = nextOf(bytes, LF, at);
      if (cr < at) cr = nextOf(bytes, CR, at);
      const stop = Math.min(lf, cr);
      if (stop > at) this.linePiece(bytes, at, stop);
      if (stop === bytes.length) return;
      this.afterCr = stop === cr;
      this.lineEnd();
      at = stop + 1;
    }
  }

  /** The stream is over: an event that lacks its blank line counts all the same. */
  end(): void {
    this.lineEnd();
    if (this.eventHasData) this.sink.event();
    this.eventHasData = false;
  }

  private pastBom(bytes: Buffer): number {
    let at = 0;
    while (this.bomMatched < BOM.length && at < bytes.length) {
      if (bytes[at] !== BOM[this.bomMatched]) {
        this.bomMatched = BOM.length;
        break;
      }
      this.bomMatched += 1;
      at += 1;
    }
    return at;
  }

  private linePiece(bytes: Buffer, start: number, stop: number): void {
    let at = start;
    this.lineEmpty = false;
    while (this.field === NAME && at < stop) {
      if (bytes[at] !== DATA_FIELD[this.nameMatched]) {
        this.field = IGNORED;
        return;
      }
      this.nameMatched += 1;
      at += 1;
      if (this.nameMatched === DATA_FIELD.length) {
        this.field = DATA_START;
        if (this.eventHasData) this.sink.data(NEWLINE, 0, 1);
        this.eventHasData = true;
      }
    }
    if (this.field === DATA_START && at < stop) {
      if (bytes[at] === SPACE) at += 1;
      this.field = DATA;
    }
    if (this.field === DATA && at < stop) this.sink.data(bytes, at, stop);
  }

  private lineEnd(): void {
    if (this.lineEmpty && this.eventHasData) {
      this.eventHasData = false;
      this.sink.event();
    }
    this.lineEmpty = true;
    this.field = NAME;
    this.nameMatched = 0;
  }
}

function nextOf(bytes: Buffer, byte: number, from: number): number {
  const found = bytes.indexOf(byte, from);
  return found < 0 ? bytes.length : found;
}
