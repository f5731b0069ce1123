import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonSkimmer, type SkimmedDocument } from './json-skimmer.ts';
import { compileShape } from './skim-shape.ts';
import { TextSink } from './text-sink.ts';

const SHAPE = compileShape(['usage', 'model', 'response.usage', 'items[].type', 'deep.er.value'], ['say']);

function skim(bytes: Buffer, cuts: readonly number[] = []): { documents: SkimmedDocument[]; said: string } {
  const documents: SkimmedDocument[] = [];
  const text = new TextSink();
  const skimmer = new JsonSkimmer(SHAPE, text, (document) => documents.push(document));
  const edges = [...new Set([0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])];
  edges.sort((a, b) => a - b);
  for (let at = 0; at + 1 < edges.length; at += 1) {
    // A copy, so that holding on to a piece beyond its push would show.
    const piece = Buffer.from(bytes.subarray(edges[at], edges[at + 1]));
    skimmer.push(piece, 0, piece.length);
    piece.fill(0x22);
  }
  skimmer.end();
  return { documents, said: text.read() };
}

function wantedOf(value: unknown): Record<string, unknown> {
  const root = value as Record<string, Record<string, unknown>>;
  const found: Record<string, unknown> = {};
  if ('usage' in root) found.usage = root.usage;
  if ('model' in root) found.model = root.model;
  if (isObject(root.response) && 'usage' in root.response) found['response.usage'] = root.response.usage;
  if (isObject(root.deep) && isObject(root.deep.er) && 'value' in root.deep.er) {
    found['deep.er.value'] = root.deep.er.value;
  }
  if (Array.isArray(root.items)) {
    const types = root.items.filter((item) => isObject(item) && 'type' in item).map((item) => item.type);
    if (types.length > 0) found['items[].type'] = types;
  }
  return found;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const anyValue = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.string({ unit: 'grapheme' }), fc.double());
const anyDocument = fc.record(
  {
    usage: anyValue,
    noise: anyValue,
    response: fc.oneof(anyValue, fc.record({ usage: anyValue, model: anyValue }, { requiredKeys: [] })),
    'us"age': anyValue,
    deep: fc.oneof(anyValue, fc.record({ er: fc.record({ value: anyValue, usage: anyValue }) })),
    items: fc.array(fc.oneof(anyValue, fc.record({ other: anyValue, type: anyValue }))),
    model: anyValue,
    say: fc.string({ unit: 'grapheme' }),
  },
  { requiredKeys: [] },
);

describe('json skimmer', () => {
  test('finds exactly what a full parse would find, however the bytes are cut', () => {
    fc.assert(
      fc.property(anyDocument, fc.array(fc.nat()), fc.boolean(), (document, cuts, pretty) => {
        const bytes = Buffer.from(JSON.stringify(document, null, pretty ? 2 : 0));
        const { documents, said } = skim(bytes, cuts);
        const parsed: unknown = JSON.parse(bytes.toString());
        expect(documents).toEqual([{ values: wantedOf(parsed), whole: true }]);
        expect(said).toBe(document.say ?? '');
      }),
      { numRuns: 1_000 },
    );
  });

  test('reads a root array as a stream of documents', () => {
    fc.assert(
      fc.property(fc.array(anyDocument, { minLength: 1 }), fc.array(fc.nat()), (list, cuts) => {
        const bytes = Buffer.from(JSON.stringify(list));
        const wanted = (JSON.parse(bytes.toString()) as unknown[]).map(wantedOf);
        expect(skim(bytes, cuts).documents.map(({ values }) => values)).toEqual(wanted);
      }),
    );
  });

  test('takes nothing from strings or nested objects that only look like usage', () => {
    const decoy = '{"usage":{"total":9},"model":"x"}';
    const bytes = Buffer.from(
      JSON.stringify({ text: decoy, inner: JSON.parse(decoy), list: [decoy, { usage: 1 }] }),
    );
    expect(skim(bytes).documents).toEqual([{ values: {}, whole: true }]);
  });

  test('passes over a byte order mark and blank lines before the document', () => {
    expect(skim(Buffer.from('\ufeff\n\n\r\n  {"usage":1}\n')).documents).toEqual([
      { values: { usage: 1 }, whole: true },
    ]);
  });

  test('knows an escaped key', () => {
    expect(skim(Buffer.from('{"\\u0075sage":5}'), [4]).documents[0]?.values).toEqual({ usage: 5 });
  });

  test('hands out the complete values of a document cut at any byte and never throws', () => {
    const bytes = Buffer.from(
      '{"model":"m-1","usage":{"a":[1,{"b":"\\"}"}]},"say":"h\\u00e9\\n","response":{"usage":12}}',
    );
    for (let end = 0; end < bytes.length; end += 1) {
      const { documents } = skim(bytes.subarray(0, end), [end >> 1]);
      const values = documents[0]?.values ?? {};
      expect(documents.every(({ whole }) => !whole)).toBe(true);
      if ('usage' in values) expect(values.usage).toEqual({ a: [1, { b: '"}' }] });
      // A number is known to be over only by what follows it.
      if ('response.usage' in values) expect(values['response.usage']).toBe(12);
    }
  });

  test('survives arbitrary bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.array(fc.nat()), (noise, cuts) => {
        skim(Buffer.from(noise), cuts);
        skim(Buffer.concat([Buffer.from('{"usage":'), Buffer.from(noise)]), cuts);
      }),
    );
  });

  test('lets go of a wanted value that is absurdly large and reads on', () => {
    const bytes = Buffer.from(`{"usage":"${'x'.repeat(300_000)}","model":"m"}`);
    expect(skim(bytes).documents[0]?.values).toEqual({ model: 'm' });
    expect(skim(bytes, [1_000, 200_000, 290_000]).documents[0]?.values).toEqual({ model: 'm' });
  });

  test('gives up on absurd nesting without failing', () => {
    const bytes = Buffer.from(`{"noise":${'['.repeat(50_000)}${']'.repeat(50_000)},"usage":1}`);
    expect(skim(bytes).documents).toEqual([{ values: {}, whole: false }]);
  });

  test('tells a closing quote from an escaped one behind any run of backslashes in a long string', () => {
    for (let slashes = 0; slashes < 8; slashes += 1) {
      const noise = `${'y'.repeat(100)}${'\\'.repeat(slashes)}`;
      for (const text of [noise, `${noise}" tail`]) {
        const bytes = Buffer.from(JSON.stringify({ noise: text, usage: 3 }));
        for (const cuts of [[], [bytes.length - 20], [112], [113], [114]]) {
          expect(skim(bytes, cuts).documents).toEqual([{ values: { usage: 3 }, whole: true }]);
        }
      }
    }
  });

  test('finds usage behind long numeric arrays and long strings', () => {
    const numbers = Array.from({ length: 5_000 }, (_, at) => at / 7);
    const document = {
      data: [{ embedding: numbers }, { embedding: 'A'.repeat(20_000) }, '\\"'.repeat(5_000)],
      usage: 3,
    };
    const bytes = Buffer.from(JSON.stringify(document));
    fc.assert(
      fc.property(fc.array(fc.nat({ max: bytes.length })), (cuts) => {
        expect(skim(bytes, cuts).documents).toEqual([{ values: { usage: 3 }, whole: true }]);
      }),
      { numRuns: 30 },
    );
  });
});
