import { describe, expect, it } from 'vitest';
import { readPricePage } from './price-pages.ts';

const WANTED = new Set(['gpt-5', 'gpt-5-mini', 'gpt-4', 'gpt-4.1', 'claude-opus-4', 'a-b', 'ab']);
const page = (body: string) => `<!doctype html><html><body>${body}</body></html>`;
const table = (rows: string[][], head = ['Model', 'Input', 'Output']) =>
  `<table><thead><tr>${head.map((text) => `<th>${text}</th>`).join('')}</tr></thead>${rows
    .map((row) => `<tr>${row.map((text) => `<td>${text}</td>`).join('')}</tr>`)
    .join('')}</table>`;
const UNIT = '<p>USD per 1M tokens</p>';

function read(body: string) {
  const reading = readPricePage(page(body), 'prov_a', WANTED);
  if (reading.kind === 'failed') return reading.reason;
  return reading.prices.map(
    ({ model_id, rates, currency }) =>
      `${model_id} ${rates.input} ${rates.output} ${rates.cached_read ?? '-'} ${currency}`,
  );
}

describe('a price page', () => {
  it('does not read a footnote as a digit of the model or of the price', () => {
    const rows = [['GPT-4<sup>1</sup>', '$3<sup>2</sup>', '$6*']];
    expect(read(UNIT + table(rows))).toEqual(['gpt-4 3 6 - USD']);
  });

  it('takes a struck-out price for gone', () => {
    expect(read(UNIT + table([['gpt-5', '<s>$2</s> $1', '$10']]))).toEqual(['gpt-5 1 10 - USD']);
  });

  it('keeps spanning cells in every row and column they cover', () => {
    const spanned = `<table>
      <tr><th rowspan="2">Vendor</th><th rowspan="2">Model</th><th colspan="2">Price per 1M tokens</th></tr>
      <tr><th>Input</th><th>Output</th></tr>
      <tr><td rowspan="2">X</td><td>gpt-5</td><td>$1</td><td>$2</td></tr>
      <tr><td>gpt-5-mini</td><td colspan="2">$3</td></tr></table>`;
    expect(read(spanned)).toEqual(['gpt-5 1 2 - USD', 'gpt-5-mini 3 3 - USD']);
  });

  it('scales every unit to a million tokens, the cell’s own before the page’s', () => {
    const rows = [
      ['gpt-5', '$0.001 per 1K tokens', '$0.002 per 1K tokens'],
      ['gpt-4', '$0.000003 per token', '$6'],
    ];
    expect(read(UNIT + table(rows))).toEqual(['gpt-5 1 2 - USD', 'gpt-4 3 6 - USD']);
  });

  it('ignores columns of other offers and of long prompts', () => {
    const head = [
      'Model',
      'Input',
      'Cached input',
      'Output',
      'Batch input',
      'Input (>200K)',
      'Audio input',
      'Context',
    ];
    const rows = [['gpt-5', '$1', '$0.1', '$2', '$0.5', '$9', '$40', '1M']];
    expect(read(UNIT + table(rows, head))).toEqual(['gpt-5 1 2 0.1 USD']);
  });

  it('ignores tables of other offers', () => {
    const batch = `<h2>Batch API</h2>${table([['gpt-5', '$0.5', '$1']])}`;
    expect(read(`${UNIT}${table([['gpt-5', '$1', '$2']])}${batch}`)).toEqual(['gpt-5 1 2 - USD']);
  });

  it('finds a model by its letters and digits, never by a part of its name', () => {
    const rows = [
      ['Claude Opus 4', '$1', '$2'],
      ['GPT 5 Mini (new)', '$1', '$2'],
      ['GPT-5 mini turbo', '$7', '$7'],
      ['GPT-5 (long prompts)', '$7', '$7'],
      ['gpt', '$7', '$7'],
    ];
    expect(read(UNIT + table(rows))).toEqual(['claude-opus-4 1 2 - USD', 'gpt-5-mini 1 2 - USD']);
  });

  it.each([
    [
      'two of our names have the same letters',
      UNIT + table([['A B', '$1', '$2']]),
      'no known model was found',
    ],
    [
      'a model is priced twice and differently',
      UNIT +
        table([
          ['gpt-5', '$1', '$2'],
          ['gpt-5', '$3', '$4'],
        ]),
      'no known model was found (gpt-5: priced more than once)',
    ],
    [
      'a cell has two amounts',
      UNIT + table([['gpt-5', '$1 up to 200K, $2 beyond', '$3']]),
      'no known model was found (gpt-5: "$1 up to 200K, $2 beyond" has 2 amounts)',
    ],
    [
      'a comma could be anything',
      UNIT + table([['gpt-5', '$1,25', '$3']]),
      'no known model was found (gpt-5: "$1,25" is not a price)',
    ],
    [
      'the currency is not said',
      `<p>per 1M tokens</p>${table([['gpt-5', '1.25', '10']])}`,
      'no known model was found (gpt-5: it is not said in which currency)',
    ],
    [
      'the output is free of any price',
      UNIT + table([['gpt-5', '$1', 'Contact us']]),
      'no known model was found (gpt-5: no price for input and output)',
    ],
    [
      'two columns say the same',
      UNIT + table([['gpt-5', '$1', '$2', '$3']], ['Model', 'Input', 'Input', 'Output']),
      'no table has columns for model, input and output',
    ],
    [
      'a pair is not said to be one',
      UNIT + table([['gpt-5', '$1 / $2']], ['Model', 'Price']),
      'no table has columns for model, input and output',
    ],
  ])('gives no price when %s', (_why, body, reason) => {
    expect(read(body)).toBe(reason);
  });

  it('reads a pair in the order its heading says', () => {
    expect(read(table([['gpt-5', '$2 / $1']], ['Model', 'Output / input price per 1M tokens']))).toEqual([
      'gpt-5 1 2 - USD',
    ]);
  });

  it('is read whatever stands in it: markup that spans beyond all bounds only costs its own rows', () => {
    const wild = `<table><tr><th colspan="99999">Model</th></tr><tr><td rowspan="65535">x</td></tr></table>`;
    expect(read(UNIT + wild + table([['gpt-5', '$1', '$2']]))).toEqual(['gpt-5 1 2 - USD']);
  });
});
