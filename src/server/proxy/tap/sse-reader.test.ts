import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SseReader } from './sse-reader.ts';

function read(bytes: Buffer, cuts: readonly number[] = []): string[] {
  const events: string[] = [];
  let pieces: Buffer[] = [];
  const reader = new SseReader({
    data: (piece, start, end) => pieces.push(Buffer.from(piece.subarray(start, end))),
    event: () => {
      events.push(Buffer.concat(pieces).toString());
      pieces = [];
    },
  });
  const edges = [...new Set([0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])];
  edges.sort((a, b) => a - b);
  for (let at = 0; at + 1 < edges.length; at += 1) reader.push(bytes.subarray(edges[at], edges[at + 1]));
  reader.end();
  return events;
}

describe('sse reader', () => {
  test.each([
    ['LF', 'data: {"a":1}\n\ndata: b\n\n', ['{"a":1}', 'b']],
    ['CRLF', 'data: a\r\n\r\ndata: b\r\n\r\n', ['a', 'b']],
    ['CR', 'data: a\r\rdata: b\r\r', ['a', 'b']],
    ['mixed line ends', 'data: a\r\n\ndata: b\n\r\n', ['a', 'b']],
    ['a byte order mark', '\ufeffdata: a\n\n', ['a']],
    ['comments', ': keep-alive\n\n: ping\ndata: a\n\n', ['a']],
    ['no space after the colon', 'data:a\n\ndata:  b\n\n', ['a', ' b']],
    ['other fields', 'event: x\nid: 1\nretry: 5\ndata: a\ndatabase: no\n\n', ['a']],
    ['several data lines', 'data: {\ndata: "a":1}\n\n', ['{\n"a":1}']],
    ['a missing final blank line', 'data: a\n\ndata: b', ['a', 'b']],
    ['no data at all', 'event: ping\n\n\n\n', []],
  ])('reads %s', (_, stream, events) => {
    expect(read(Buffer.from(stream))).toEqual(events);
  });

  test('reads the same events from any cut of the bytes and any line end', () => {
    const line = fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n]/g, ''));
    const events = fc.array(fc.array(line, { minLength: 1, maxLength: 3 }));
    fc.assert(
      fc.property(events, fc.constantFrom('\n', '\r\n', '\r'), fc.array(fc.nat()), (list, lineEnd, cuts) => {
        const stream = list
          .map((lines) => [...lines.map((text) => `data: ${text}`), '', ''].join(lineEnd))
          .join('');
        expect(read(Buffer.from(stream), cuts)).toEqual(list.map((lines) => lines.join('\n')));
      }),
      { numRuns: 500 },
    );
  });
});
