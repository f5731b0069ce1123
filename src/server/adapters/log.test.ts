import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createLogger, redactSecrets } from './log.ts';

function logged(write: (log: ReturnType<typeof createLogger>) => void, level = 'info'): string[] {
  const lines: string[] = [];
  write(createLogger(level, { write: (line) => lines.push(line) }));
  return lines;
}

test.each([
  ['a gateway key', 'gw_live_4f9A0b1c2D3e4F5a'],
  ['a gateway test key', 'gw_test_4f9A0b1c2D3e4F5a'],
  ['an OpenAI key', 'sk-proj-abcdefGHIJ_0123-4567'],
  ['an Anthropic key', 'sk-ant-api03-abcdefGHIJ'],
  ['a Gemini key', 'AIzaSyA1234567890abcdefghijk'],
  ['a webhook secret', 'wh_aGVsbG8gd29ybGQgaGVsbG8gd29ybGQ='],
  ['a bearer token', 'Bearer abc.def/ghi+jkl='],
  ['a JWT', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl'],
  ['a key in a query', 'https://h/v1?key=abc123def'],
  ['a password in an address', 'postgres://user:abc123def@h/db'],
])('%s never reaches the log: in a message, a field, a nested field or an error', (_, text) => {
  const secretPart = text
    .replace(/^(?:Bearer |https:\/\/h\/v1\?key=|postgres:\/\/user:)/, '')
    .replace(/@h\/db$/, '');
  const lines = logged((log) => {
    log.info(`before ${text} after`);
    log.info({ field: text, nested: { deep: [text] } }, 'fields');
    log.error({ err: new Error(`failed with ${text}`) }, 'fault');
  });
  expect(lines).toHaveLength(3);
  for (const line of lines) {
    expect(line).not.toContain(secretPart);
    expect(() => JSON.parse(line)).not.toThrow();
  }
});

test('a field named like a secret is hidden whatever its value looks like', () => {
  const [line] = logged((log) =>
    log.info({ headers: { Authorization: 'odd "quoted" value', 'x-api-key': 'k' } }, 'request'),
  );
  expect(JSON.parse(line!)).toMatchObject({
    headers: { Authorization: '[redacted]', 'x-api-key': '[redacted]' },
    msg: 'request',
  });
});

test('redaction keeps every log line valid JSON', () => {
  const pieces = fc.constantFrom(
    'gw_live_a',
    'Bearer ',
    '"',
    '\\',
    '://a:',
    '@',
    '?key=',
    '":"',
    'token',
    'sk-123456',
    'é',
  );
  fc.assert(
    fc.property(fc.array(pieces), fc.string(), (parts, tail) => {
      const line = JSON.stringify({ token: tail, msg: parts.join('') + tail, n: 1 });
      expect(JSON.parse(redactSecrets(line))).toMatchObject({ n: 1 });
    }),
  );
});

test('lines below the level are not written, and each line tells its level by name and its time in UTC', () => {
  const lines = logged((log) => {
    log.info('quiet');
    log.warn('loud');
  }, 'warn');
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0]!)).toEqual({
    level: 'warn',
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    msg: 'loud',
  });
});
