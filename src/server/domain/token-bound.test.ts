import { createHash, randomBytes } from 'node:crypto';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, test } from 'vitest';
import { tokensAtMost } from './token-bound.ts';

const hex = (seed: string, bytes: number) =>
  Array.from({ length: Math.ceil(bytes / 32) }, (_, n) =>
    createHash('sha256').update(`${seed}${n}`).digest('hex'),
  ).join('');

const CORPUS: Record<string, string> = {
  prose:
    'The quick brown fox jumps over the lazy dog, while nobody in the village seemed to notice anything unusual. '.repeat(
      40,
    ),
  'long words':
    'Internationalization, electroencephalographically, Donaudampfschifffahrtsgesellschaftskapitän. '.repeat(
      40,
    ),
  code: 'export function f<T>(x: readonly T[]): T | undefined { return x?.[0] ?? (() => { throw new Error("no " + x); })(); }\n'.repeat(
    40,
  ),
  json: JSON.stringify(
    Array.from({ length: 200 }, (_, n) => ({
      id: n,
      at: '2026-11-15T03:12:02.123Z',
      ok: n % 2 === 0,
      price: n * 1.37,
    })),
  ),
  hex: hex('seed', 8000),
  base64: Buffer.from(hex('b', 8000), 'hex')
    .toString('base64')
    .match(/.{1,76}/g)!
    .join('\n'),
  'random letters': Array.from(hex('l', 4000), (c) => 'qzxjkvbpygfwmucl'[Number.parseInt(c, 16)])
    .join('')
    .replace(/.{9}/g, '$& '),
  digits: '3141592653589793238462643383279502884197169399375105820974944592307816406286 '.repeat(40),
  signs: '!@#$%^&*()_+-={}[]|:;<>?,./~`'.repeat(60),
  chinese: '人工智能正在改变我们的生活方式，许多公司开始担心账单。'.repeat(60),
  japanese: '彼女は毎朝コーヒーを飲みながら請求書を確認するのが習慣になっている。'.repeat(60),
  korean: '우리는 매일 아침 청구서를 보고 걱정합니다. 예산은 정확해야 합니다.'.repeat(60),
  russian: 'Каждое утро они смотрят на счёт и боятся его открыть. '.repeat(60),
  arabic: 'كل صباح ينظرون إلى الفاتورة ويخافون من فتحها. '.repeat(60),
  hindi: 'हर सुबह वे बिल देखते हैं और उसे खोलने से डरते हैं। '.repeat(60),
  thai: 'ทุกเช้าพวกเขาดูใบแจ้งหนี้และกลัวที่จะเปิดมัน '.repeat(60),
  emoji: '😀🎉🚀👩‍👩‍👧‍👦🏳️‍🌈✨🤷🏽‍♂️'.repeat(60),
  whitespace: `${' '.repeat(200)}\n${'\t'.repeat(200)}\n\n\n`.repeat(20),
};

describe('the bound is never below the real count', () => {
  for (const [name, text] of Object.entries(CORPUS)) {
    test(name, () => {
      const body = Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: text }] }));
      const real = countTokens(text);
      const bound = tokensAtMost(body);
      expect(bound).toBeGreaterThanOrEqual(real);
      // And not so far above that it would hold back requests that fit.
      expect(bound).toBeLessThan(real * 6 + 5000);
    });
  }
});

test('inline media count as media, whatever their size, in all three ways of sending them', () => {
  const picture = randomBytes(400_000).toString('base64');
  for (const part of [
    { type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: picture } },
    { inlineData: { mimeType: 'image/png', data: picture } },
  ]) {
    const bound = tokensAtMost(Buffer.from(JSON.stringify({ content: [part] })));
    expect(bound).toBeGreaterThan(5_000);
    expect(bound).toBeLessThan(5_200);
  }
});

test('every byte sequence gets a finite bound, at least one token in four bytes of text', () => {
  for (let round = 0; round < 50; round += 1) {
    const bytes = randomBytes(1 + round * 37);
    const bound = tokensAtMost(bytes);
    expect(Number.isSafeInteger(bound)).toBe(true);
    expect(bound).toBeLessThanOrEqual(bytes.length * 2 + 1);
  }
});
