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

describe('a table under the name of a model', () => {
  const HEAD = ['', 'Free Tier', 'Paid Tier, per 1M tokens in USD'];
  const priced = (input: string, output = '$10', head = HEAD) =>
    table(
      [
        ['Input price', 'Free of charge', input],
        ['Output price (including thinking tokens)', 'Free of charge', output],
      ],
      head,
    );
  const full = (body: string) => {
    const reading = readPricePage(page(body), 'prov_c', WANTED);
    if (reading.kind === 'failed') return reading.reason;
    return reading.prices.map(({ model_id, rates, long_context }) => ({ model_id, rates, long_context }));
  };

  it('is that model’s, by the heading or by the name in code below it', () => {
    const rates = { input: '1', output: '10' };
    expect(full(`<h2>GPT-5 mini</h2>${priced('$1')}`)).toEqual([{ model_id: 'gpt-5-mini', rates }]);
    expect(full(`<h2>Our best</h2><em><code>gpt-5</code></em>${priced('$1')}`)).toEqual([
      { model_id: 'gpt-5', rates },
    ]);
    expect(full(`<h2>Both</h2><p><code>gpt-5</code> and <code>gpt-4</code></p>${priced('$1')}`)).toEqual([
      { model_id: 'gpt-5', rates },
      { model_id: 'gpt-4', rates },
    ]);
  });

  it('has a price for long prompts, one for audio, and no use for that of storage', () => {
    const cells = '$1.25, prompts &lt;= 200k tokens<br>$2.50, prompts &gt; 200k tokens';
    expect(full(`<h2>gpt-5</h2>${priced(cells)}`)).toEqual([
      {
        model_id: 'gpt-5',
        rates: { input: '1.25', output: '10' },
        long_context: { threshold_tokens: 200_000, rates: { input: '2.5' } },
      },
    ]);
    const audio =
      '$0.30 (text / image / video)<br>$1.00 (audio)<br>$1 / 1,000,000 tokens per hour (storage price)';
    expect(full(`<h2>gpt-5</h2>${priced(audio)}`)).toEqual([
      { model_id: 'gpt-5', rates: { input: '0.3', audio_input: '1', output: '10' } },
    ]);
  });

  it('is not read when it is of another offer', () => {
    const plain = `<h2>gpt-5</h2><h3>Standard</h3>${priced('$1')}`;
    for (const tier of ['Batch', 'Flex', 'Priority']) {
      expect(full(`${plain}<h3>${tier}</h3>${priced('$0.5')}`)).toEqual([
        { model_id: 'gpt-5', rates: { input: '1', output: '10' } },
      ]);
    }
    expect(full(`<h2>Batch API</h2><h3>gpt-5</h3>${priced('$1')}`)).toBe('no known model was found');
  });

  it.each([
    [
      'a heading between says what nobody here knows',
      '<h2>gpt-5</h2><h3>Live</h3>',
      '$1',
      'its table stands under "Live"',
    ],
    ['a name in code stands in a sentence', '<h2>Others</h2><p>Like <code>gpt-5</code>.</p>', '$1', null],
    [
      'the name below the heading is another model',
      '<h2>gpt-5</h2><em><code>gpt-5-turbo</code></em>',
      '$1',
      null,
    ],
    [
      'an amount holds for a while',
      '<h2>gpt-5</h2>',
      '$1 until June',
      '"$1 until June" cannot be read for certain',
    ],
    [
      'something stands before the amount',
      '<h2>gpt-5</h2>',
      'from $1',
      '"from $1" says something before its price',
    ],
    ['two amounts say the same', '<h2>gpt-5</h2>', '$1<br>$2', 'two prices for input'],
    [
      'one amount is for text and audio',
      '<h2>gpt-5</h2>',
      '$1 (text / audio)',
      '"$1 (text / audio)" cannot be read for certain',
    ],
    ['no amount is for text', '<h2>gpt-5</h2>', '$1 (audio)', '"$1 (audio)" has no price for text'],
    [
      'there are three sizes of prompts',
      '<h2>gpt-5</h2>',
      '$1, prompts &lt;= 128k<br>$2, prompts &gt; 200k',
      'more than one price for long prompts',
    ],
    [
      'long prompts have no price',
      '<h2>gpt-5</h2>',
      '$1, prompts &lt;= 200k',
      'a price for short prompts and none for long ones',
    ],
  ])('gives no price when %s', (_why, above, cell, reason) => {
    const failed = full(above + priced(cell));
    if (reason === null) expect(failed).toBe('no table has columns for model, input and output');
    else expect(failed).toBe(`no known model was found (gpt-5: ${reason})`);
  });

  it('gives no price when it is not clear which column is to be paid', () => {
    const two = ['', 'Tier 1, per 1M tokens in USD', 'Tier 2, per 1M tokens in USD'];
    expect(full(`<h2>gpt-5</h2>${priced('$1', '$10', two)}`)).toBe(
      'no known model was found (gpt-5: it is not clear which column holds the price)',
    );
    expect(full(`<h2>gpt-5</h2>${priced('$1', '$10', ['', 'Free Tier', 'Paid Tier'])}`)).toBe(
      'no known model was found (gpt-5: it is not said per how many tokens)',
    );
  });
});
