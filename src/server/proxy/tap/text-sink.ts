const MAX_TEXT_BYTES = 4 * 1024 * 1024;
const FIRST_BYTES = 256;
/** Most pieces are one token; for those a loop beats the fixed cost of a native copy. */
const SHORT_COPY_BYTES = 64;

/**
 * Gathers pieces of output text as the raw, still escaped bytes of JSON strings. Most streams report their
 * usage in the end and the text is thrown away, so decoding waits until somebody asks.
 */
export class TextSink {
  /** Closed once usage has been reported: nothing more is copied. */
  open = true;
  private bytes: Buffer | null = null;
  private length = 0;

  append(piece: Buffer, start: number, end: number): void {
    const wanted = Math.min(end - start, MAX_TEXT_BYTES - this.length);
    if (wanted <= 0) return;
    const needed = this.length + wanted;
    if (this.bytes === null || this.bytes.length < needed) this.grow(needed);
    if (wanted > SHORT_COPY_BYTES) {
      piece.copy(this.bytes!, this.length, start, start + wanted);
    } else {
      for (let at = 0; at < wanted; at += 1) this.bytes![this.length + at] = piece[start + at]!;
    }
    this.length = needed;
  }

  mark(): number {
    return this.length;
  }

  rewind(mark: number): void {
    this.length = mark;
  }

  /** Nothing will be asked for any more: let the memory go while the stream is still running. */
  close(): void {
    this.open = false;
    this.bytes = null;
    this.length = 0;
  }

  read(): string {
    if (this.bytes === null || this.length === 0) return '';
    const raw = this.bytes.toString('utf8', 0, this.length);
    // A cut stream can end inside an escape; a backslash before it belongs to the same run.
    const whole = raw.replace(/(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?$/, '$1');
    try {
      return JSON.parse(`"${whole}"`) as string;
    } catch {
      return raw;
    }
  }

  private grow(needed: number): void {
    let size = this.bytes?.length ?? FIRST_BYTES;
    while (size < needed) size *= 2;
    const grown = Buffer.allocUnsafe(Math.min(size, Math.max(MAX_TEXT_BYTES, needed)));
    this.bytes?.copy(grown, 0, 0, this.length);
    this.bytes = grown;
  }
}
