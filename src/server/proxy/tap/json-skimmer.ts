import { parseJson, SkimCapture } from './skim-capture.ts';
import { findMember, type SkimNode } from './skim-shape.ts';
import type { TextSink } from './text-sink.ts';

const MAX_DEPTH = 10_000;
const MAX_KEY_BYTES = 128;
/** Up to this many bytes a plain loop beats the fixed cost of a native search. */
const SHORT_RUN_BYTES = 48;
/** Searching ahead pays only where much is left to skip, as in arrays of embeddings. */
const LONG_SKIP_BYTES = 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
/** Setting this bit turns a bracket into the brace of the same side, so one test finds both. */
const BRACE_BIT = 0x20;
const BOM = [0xef, 0xbb, 0xbf];

const STRUCTURAL = [QUOTE, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE];

const ROOT = 0;
const VALUE = 1;
const FIRST_ITEM = 2;
const FIRST_KEY = 3;
const NEXT_KEY = 4;
const KEY = 5;
const AFTER_KEY = 6;
const AFTER_VALUE = 7;
const STRING = 8;
const SCALAR = 9;
const SKIP = 10;
const SKIP_STRING = 11;
/** Not JSON after all: ignore everything until the next document is announced by end(). */
const BROKEN = 12;

export interface SkimmedDocument {
  /** The wanted values that were complete, by path; repeated paths hold arrays. */
  readonly values: Readonly<Record<string, unknown>>;
  /** The closing brace was seen. */
  readonly whole: boolean;
}

/**
 * Walks JSON bytes as they arrive, in any pieces, and keeps only what a shape wants; the rest is passed over
 * without being decoded or held. It follows the structure, so text that merely looks like usage inside a
 * string or an unwanted object is never mistaken for it. It is no validator: broken input yields the values
 * that were complete, never a throw.
 */
export class JsonSkimmer {
  private readonly root: SkimNode;
  private readonly rootArray: SkimNode;
  private readonly text: TextSink;
  private readonly onDocument: (document: SkimmedDocument) => void;

  private state = ROOT;
  /** Where the value about to start stands in the shape; null when nobody wants it. */
  private target: SkimNode | null = null;
  private readonly frameNodes: SkimNode[] = [];
  private readonly frameIsArray: boolean[] = [];
  /** Number of frames open when the current document's braces opened; -1 outside any document. */
  private documentDepth = -1;
  private values: Record<string, unknown> = {};
  private skipDepth = 0;
  private escaped = false;

  private readonly capture = new SkimCapture();
  private textFrom = -1;
  private keyBytes: Buffer | null = null;
  private keyLength = 0;
  /** Next position of each structural byte in the current piece; see skipAhead. */
  private readonly ahead = STRUCTURAL.map(() => -1);
  private aheadKnown = false;

  constructor(root: SkimNode, text: TextSink, onDocument: (document: SkimmedDocument) => void) {
    this.root = root;
    // A root array is a stream of documents: its items are roots themselves.
    this.rootArray = { path: null, repeated: false, text: false, items: root, members: [] };
    this.text = text;
    this.onDocument = onDocument;
  }

  /** No document or root array is open: everything that began has ended. */
  get atRest(): boolean {
    return this.state === ROOT && this.frameNodes.length === 0;
  }

  push(bytes: Buffer, start: number, end: number): void {
    this.capture.resume(start);
    if (this.textFrom >= 0) this.textFrom = start;
    this.aheadKnown = false;
    let at = start;
    while (at < end) at = this.step(bytes, at, end);
    if (this.capture.active) this.capture.hold(bytes, end);
    if (this.textFrom >= 0) this.text.append(bytes, this.textFrom, end);
  }

  /** The bytes of this document are over: hands out a cut document and makes ready for the next. */
  end(): void {
    if (this.documentDepth >= 0) this.emit(false);
    this.state = ROOT;
    if (this.frameNodes.length > 0) {
      this.frameNodes.length = 0;
      this.frameIsArray.length = 0;
    }
    this.capture.drop();
    this.textFrom = -1;
    this.escaped = false;
    this.keyLength = 0;
  }

  private step(bytes: Buffer, at: number, end: number): number {
    switch (this.state) {
      case STRING:
        return this.inString(bytes, at, end);
      case SKIP:
        return this.inSkipped(bytes, at, end);
      case SKIP_STRING: {
        const past = this.stringEnd(bytes, at, end);
        if (past >= 0) this.state = SKIP;
        return past < 0 ? end : past;
      }
      case SCALAR:
        return this.inScalar(bytes, at, end);
      case KEY:
        return this.inKey(bytes, at, end);
      case BROKEN:
        return end;
      default:
        return this.atToken(bytes, at, end);
    }
  }

  private atToken(bytes: Buffer, at: number, end: number): number {
    const byte = bytes[at]!;
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) return at + 1;
    switch (this.state) {
      case AFTER_VALUE:
        if (byte === COMMA) {
          const node = this.frameNodes[this.frameNodes.length - 1]!;
          const inArray = this.frameIsArray[this.frameIsArray.length - 1]!;
          this.target = node.items;
          this.state = inArray ? VALUE : NEXT_KEY;
          return at + 1;
        }
        return this.close(byte, at);
      case NEXT_KEY:
      case FIRST_KEY:
        if (byte === QUOTE) return this.beginKey(bytes, at + 1, end);
        return this.close(byte, at);
      case AFTER_KEY:
        this.state = byte === COLON ? VALUE : BROKEN;
        return at + 1;
      case FIRST_ITEM:
        if (byte === CLOSE_BRACKET) return this.close(byte, at);
        return this.beginValue(byte, at);
      case VALUE:
        return this.beginValue(byte, at);
      default:
        return this.beginRoot(byte, at);
    }
  }

  private beginRoot(byte: number, at: number): number {
    if (byte === OPEN_BRACE) {
      this.openFrame(this.root, false);
    } else if (byte === OPEN_BRACKET) {
      this.openFrame(this.rootArray, true);
    } else if (!BOM.includes(byte)) {
      this.state = BROKEN;
    }
    return at + 1;
  }

  private beginValue(byte: number, at: number): number {
    const node = this.target;
    const wanted = node !== null && node.path !== null;
    if (wanted) this.capture.begin(node, at);
    if (byte === QUOTE) {
      if (!wanted && node?.text && this.text.open) this.textFrom = at + 1;
      this.state = STRING;
    } else if (byte === OPEN_BRACE) {
      if (!wanted && node !== null && node.members.length > 0) this.openFrame(node, false);
      else this.beginSkip();
    } else if (byte === OPEN_BRACKET) {
      if (!wanted && node !== null && node.items !== null) this.openFrame(node, true);
      else this.beginSkip();
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET || byte === COMMA) {
      this.state = BROKEN;
    } else {
      this.state = SCALAR;
    }
    return at + 1;
  }

  private beginSkip(): void {
    this.skipDepth = 1;
    this.state = SKIP;
  }

  private openFrame(node: SkimNode, isArray: boolean): void {
    if (node === this.root && !isArray) {
      this.documentDepth = this.frameNodes.length;
      this.values = {};
    }
    this.frameNodes.push(node);
    this.frameIsArray.push(isArray);
    this.target = isArray ? node.items : null;
    this.state = isArray ? FIRST_ITEM : FIRST_KEY;
  }

  private close(byte: number, at: number): number {
    const isArray = this.frameIsArray[this.frameIsArray.length - 1];
    if (isArray === undefined || byte !== (isArray ? CLOSE_BRACKET : CLOSE_BRACE)) {
      this.state = BROKEN;
      return at + 1;
    }
    this.frameNodes.pop();
    this.frameIsArray.pop();
    if (this.frameNodes.length === this.documentDepth) this.emit(true);
    this.state = this.frameNodes.length === 0 ? ROOT : AFTER_VALUE;
    return at + 1;
  }

  private emit(whole: boolean): void {
    this.documentDepth = -1;
    this.onDocument({ values: this.values, whole });
  }

  private beginKey(bytes: Buffer, start: number, end: number): number {
    const stop = Math.min(end, start + MAX_KEY_BYTES);
    for (let at = start; at < stop; at += 1) {
      const byte = bytes[at]!;
      if (byte === QUOTE) {
        this.target = findMember(this.frameNodes[this.frameNodes.length - 1]!, bytes, start, at);
        this.state = AFTER_KEY;
        return at + 1;
      }
      if (byte === BACKSLASH) break;
    }
    this.state = KEY;
    this.keyLength = 0;
    return start;
  }

  /** The slow way for keys that are cut by a piece's end, escaped or very long. */
  private inKey(bytes: Buffer, start: number, end: number): number {
    const past = this.stringEnd(bytes, start, end);
    this.keyBytes ??= Buffer.allocUnsafe(MAX_KEY_BYTES);
    const pieceEnd = past < 0 ? end : past - 1;
    bytes.copy(this.keyBytes, Math.min(this.keyLength, MAX_KEY_BYTES), start, pieceEnd);
    this.keyLength += pieceEnd - start;
    if (past < 0) return end;
    this.target = this.keyLength > MAX_KEY_BYTES ? null : this.memberOfSlowKey(this.keyBytes);
    this.keyLength = 0;
    this.state = AFTER_KEY;
    return past;
  }

  private memberOfSlowKey(keyBytes: Buffer): SkimNode | null {
    const node = this.frameNodes[this.frameNodes.length - 1]!;
    if (keyBytes.subarray(0, this.keyLength).indexOf(BACKSLASH) < 0) {
      return findMember(node, keyBytes, 0, this.keyLength);
    }
    const key = parseJson(`"${keyBytes.toString('utf8', 0, this.keyLength)}"`);
    if (typeof key !== 'string') return null;
    const unescaped = Buffer.from(key);
    return findMember(node, unescaped, 0, unescaped.length);
  }

  private inString(bytes: Buffer, start: number, end: number): number {
    const past = this.stringEnd(bytes, start, end);
    if (past < 0) return end;
    if (this.textFrom >= 0) {
      this.text.append(bytes, this.textFrom, past - 1);
      this.textFrom = -1;
    }
    this.endValue(bytes, past);
    return past;
  }

  private inScalar(bytes: Buffer, start: number, end: number): number {
    for (let at = start; at < end; at += 1) {
      const byte = bytes[at]!;
      if (byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || byte <= 0x20) {
        this.endValue(bytes, at);
        return at;
      }
    }
    return end;
  }

  private endValue(bytes: Buffer, past: number): void {
    if (this.capture.active) this.capture.finish(bytes, past, this.values);
    this.state = AFTER_VALUE;
  }

  /** Index just past the closing quote, or -1 when the string goes on in the next piece. */
  private stringEnd(bytes: Buffer, start: number, end: number): number {
    let at = start;
    if (this.escaped) {
      this.escaped = false;
      at += 1;
    }
    while (at < end) {
      const shortStop = Math.min(end, at + SHORT_RUN_BYTES);
      while (at < shortStop) {
        const byte = bytes[at]!;
        if (byte === QUOTE) return at + 1;
        at += byte === BACKSLASH ? 2 : 1;
      }
      if (at >= end) break;
      const found = bytes.indexOf(QUOTE, at);
      const quote = found < 0 || found >= end ? end : found;
      let slashes = quote;
      while (slashes > at && bytes[slashes - 1] === BACKSLASH) slashes -= 1;
      const isEscaped = (quote - slashes) % 2 === 1;
      if (quote < end && !isEscaped) return quote + 1;
      at = isEscaped ? quote + 1 : quote;
    }
    this.escaped = at > end;
    return -1;
  }

  private inSkipped(bytes: Buffer, start: number, end: number): number {
    let at = start;
    let plainUntil = at + SHORT_RUN_BYTES;
    while (at < end) {
      const byte = bytes[at]!;
      if (byte === QUOTE) {
        const past = this.stringEnd(bytes, at + 1, end);
        if (past < 0) {
          this.state = SKIP_STRING;
          return end;
        }
        at = past;
        plainUntil = at + SHORT_RUN_BYTES;
        continue;
      }
      at += 1;
      if (byte >= OPEN_BRACKET) {
        const brace = byte | BRACE_BIT;
        if (brace === CLOSE_BRACE) {
          this.skipDepth -= 1;
          if (this.skipDepth === 0) {
            this.endValue(bytes, at);
            return at;
          }
        } else if (brace === OPEN_BRACE) {
          this.skipDepth += 1;
          if (this.skipDepth > MAX_DEPTH) {
            this.capture.drop();
            this.state = BROKEN;
            return end;
          }
        }
      }
      if (at >= plainUntil) {
        if (end - at >= LONG_SKIP_BYTES) at = this.skipAhead(bytes, at, end);
        plainUntil = at + SHORT_RUN_BYTES;
      }
    }
    return end;
  }

  /** The next structural byte: each kind is searched natively, and again only once it has been passed. */
  private skipAhead(bytes: Buffer, at: number, end: number): number {
    const { ahead } = this;
    if (!this.aheadKnown) ahead.fill(-1);
    this.aheadKnown = true;
    let nearest = end;
    for (let kind = 0; kind < ahead.length; kind += 1) {
      if (ahead[kind]! < at) {
        const found = bytes.indexOf(STRUCTURAL[kind]!, at);
        ahead[kind] = found < 0 ? bytes.length : found;
      }
      if (ahead[kind]! < nearest) nearest = ahead[kind]!;
    }
    return nearest;
  }
}
