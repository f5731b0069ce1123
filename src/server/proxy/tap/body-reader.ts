import { JsonSkimmer, type SkimmedDocument } from './json-skimmer.ts';
import type { SkimNode } from './skim-shape.ts';
import { SseReader, type SseSink } from './sse-reader.ts';
import type { TextSink } from './text-sink.ts';

const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const DONE_MARKER = '[DONE]';
const MAX_MARKER_BYTES = 16;
/** Media cannot hold usage, and a byte that looks like a brace must not start a search for it. */
const MEDIA_TYPE = /^(audio|image|video|font)\/|^application\/(octet-stream|pdf|zip)/i;

/**
 * Reads the documents of a plain (already decoded) body: JSON, a JSON array of documents, or server-sent
 * events with one document each. The framing is decided by the first byte where the content type leaves it
 * open, because compatible servers send event streams under any name.
 */
export class BodyReader implements SseSink {
  private readonly skimmer: JsonSkimmer;
  private readonly sse: SseReader;
  private framing: 'unknown' | 'json' | 'sse' | 'opaque' = 'unknown';
  private documents = 0;
  private inMarker = false;
  private eventFresh = true;
  private marker = '';
  /** `data: [DONE]` was seen. */
  doneMarkerSeen = false;

  constructor(
    contentType: string | undefined,
    shape: SkimNode,
    text: TextSink,
    onDocument: (document: SkimmedDocument) => void,
  ) {
    this.skimmer = new JsonSkimmer(shape, text, (document) => {
      this.documents += 1;
      onDocument(document);
    });
    this.sse = new SseReader(this);
    if (contentType !== undefined && /^text\/event-stream/i.test(contentType)) this.framing = 'sse';
    else if (contentType !== undefined && MEDIA_TYPE.test(contentType)) this.framing = 'opaque';
  }

  push(bytes: Buffer): void {
    if (this.framing === 'unknown') this.framing = framingOf(bytes);
    if (this.framing === 'json') this.skimmer.push(bytes, 0, bytes.length);
    else if (this.framing === 'sse') this.sse.push(bytes);
  }

  /** Call once after the last byte. True when a JSON body was there from its first to its last brace. */
  end(): boolean {
    if (this.framing === 'sse') {
      this.sse.end();
      return false;
    }
    const whole = this.documents > 0 && this.skimmer.atRest;
    this.skimmer.end();
    return whole;
  }

  get isEventStream(): boolean {
    return this.framing === 'sse';
  }

  data(bytes: Buffer, start: number, end: number): void {
    if (this.eventFresh) {
      this.eventFresh = false;
      this.inMarker = bytes[start] === OPEN_BRACKET;
      this.marker = '';
    }
    if (!this.inMarker) this.skimmer.push(bytes, start, end);
    else if (this.marker.length < MAX_MARKER_BYTES) {
      this.marker += bytes.toString('latin1', start, Math.min(end, start + MAX_MARKER_BYTES));
    }
  }

  event(): void {
    this.eventFresh = true;
    if (!this.inMarker) this.skimmer.end();
    else if (this.marker.trim() === DONE_MARKER) this.doneMarkerSeen = true;
    this.inMarker = false;
  }
}

function framingOf(bytes: Buffer): 'unknown' | 'json' | 'sse' | 'opaque' {
  for (const byte of bytes) {
    if (byte <= 0x20 || byte === 0xef || byte === 0xbb || byte === 0xbf) continue;
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) return 'json';
    // `data:`, `event:`, `id:`, `retry:` or a comment.
    return 'deir:'.includes(String.fromCharCode(byte)) ? 'sse' : 'opaque';
  }
  return 'unknown';
}
