import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openKeyedHash } from '../../ledger/keyed-hash.ts';
import { fingerprintPrompt } from './fingerprint.ts';

const key = openKeyedHash(randomBytes(32));
const bodyOf = (value: unknown) => Buffer.from(JSON.stringify(value));
const chat = (system: string, question: string, settings = {}) =>
  bodyOf({
    model: 'm',
    ...settings,
    messages: [
      { role: 'system', content: system },
      { role: 'user', content: question },
    ],
  });
const print = (body: Buffer, of = key) => fingerprintPrompt(of, 'openai', body);

describe('a prompt’s fingerprint', () => {
  it('is the same for the same body and different for any other, wherever a short body differs', () => {
    const body = chat('x'.repeat(9_000), 'question');
    expect(print(body)).toEqual(print(Buffer.from(body)));
    const { prompt_fingerprint: original } = print(body);
    for (let at = 0; at < body.length; at += 7) {
      const changed = Buffer.from(body);
      changed[at]! ^= 1;
      expect(print(changed).prompt_fingerprint, `byte ${at}`).not.toBe(original);
    }
  });

  it('differs between tenants for one body', () => {
    const body = chat('x'.repeat(20_000), 'question');
    const other = print(body, openKeyedHash(randomBytes(32)));
    const own = print(body);
    for (const name of Object.keys(own) as (keyof typeof own)[]) {
      expect(own[name]).toMatch(/^[0-9a-f]{32}$/);
      expect(other[name]).not.toBe(own[name]);
    }
  });

  it('shows a common beginning of four and of sixteen KiB, whatever the settings before it and the question after it', () => {
    const long = print(chat('x'.repeat(20_000), 'one'));
    const other = print(chat('x'.repeat(20_000), 'another', { temperature: 0.3, max_tokens: 77 }));
    expect(other.prefix_fingerprint).toBe(long.prefix_fingerprint);
    expect(other.long_prefix_fingerprint).toBe(long.long_prefix_fingerprint);
    expect(other.prompt_fingerprint).not.toBe(long.prompt_fingerprint);
    const middle = print(chat(`${'x'.repeat(5_000)}y${'x'.repeat(15_000)}`, 'one'));
    expect(middle.prefix_fingerprint).toBe(long.prefix_fingerprint);
    expect(middle.long_prefix_fingerprint).not.toBe(long.long_prefix_fingerprint);
  });

  it('has no beginning to compare in a prompt that is too short for a cache', () => {
    expect(print(chat('short', 'question'))).toMatchObject({
      prefix_fingerprint: null,
      long_prefix_fingerprint: null,
    });
    expect(print(Buffer.alloc(0)).prompt_fingerprint).toBeNull();
  });

  it('sees a changed question that stands before the system prompt', () => {
    const message = (question: string) =>
      bodyOf({
        max_tokens: 5,
        messages: [{ role: 'user', content: `${'q'.repeat(30_000)}${question}` }],
        system: 's'.repeat(40_000),
      });
    const one = fingerprintPrompt(key, 'anthropic', message('A'));
    const two = fingerprintPrompt(key, 'anthropic', message('B'));
    expect(two.long_prefix_fingerprint).toBe(one.long_prefix_fingerprint);
    expect(two.prompt_fingerprint).not.toBe(one.prompt_fingerprint);
  });
});
