import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bar, sparkline } from './chart.ts';
import { makeColours } from './colours.ts';
import { type Column, layTable } from './table.ts';
import { cut, widthOf } from './text.ts';

const colours = makeColours(false);
const columns: Column<[string, string]>[] = [
  { title: 'NAME', of: ([name]) => name, flexible: true },
  { title: 'N', of: ([, n]) => n, right: true },
];

test('columns are aligned, numbers to the right, without blanks at the ends of lines', () => {
  const rows: Array<[string, string]> = [
    ['a', '1'],
    ['費用', '10'],
  ];
  expect(layTable(columns, rows, { width: null, colours })).toEqual(['NAME   N', 'a      1', '費用  10']);
});

test('a table is as wide as its terminal at most, as long as its flexible columns allow', () => {
  const row = fc.tuple(fc.string({ unit: 'grapheme', maxLength: 80 }), fc.stringMatching(/^\d{1,5}$/));
  fc.assert(
    fc.property(fc.array(row, { minLength: 1 }), fc.integer({ min: 15, max: 100 }), (rows, width) => {
      for (const line of layTable(columns, rows, { width, colours })) {
        expect(widthOf(line)).toBeLessThanOrEqual(width);
      }
    }),
  );
});

test('what is cut fits, and what fits is not cut', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 40 }), (text, width) => {
      expect(widthOf(cut(text, width))).toBeLessThanOrEqual(width);
      if (widthOf(text) <= width) expect(cut(text, width)).toBe(text);
    }),
  );
});

test('colours change nothing but the colour', () => {
  const painted: Column<[string, string]>[] = columns.map((column) => ({
    ...column,
    paint: (text, _row, paints) => paints.red(text),
  }));
  const rows: Array<[string, string]> = [['$&', '7']];
  const [plain, coloured] = [false, true].map((on) =>
    layTable(painted, rows, { width: null, colours: makeColours(on) }),
  );
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters
  expect(coloured!.map((line) => line.replace(/\u001b\[\d+m/g, ''))).toEqual(plain);
  expect(coloured).not.toEqual(plain);
});

test('a bar is as long as its share and never nothing for something', () => {
  expect(bar(50, 100, 10)).toBe('█████');
  expect(bar(1, 1_000_000, 10)).toBe('▏');
  expect(bar(0, 100, 10)).toBe('');
  expect(bar(200, 100, 4)).toBe('████');
});

test('a sparkline has its highest value at the top and sums what does not fit', () => {
  expect(sparkline([0, 1, 4, 8], 10)).toBe('▁▂▅█');
  expect(sparkline([0, 0], 10)).toBe('▁▁');
  expect(sparkline([1, 1, 1, 1, 4, 4], 3)).toBe('▃▃█');
});
