import { describe, expect, it } from 'vitest';
import { maskChatHook, parseChatHook } from './chat-hooks.ts';

const PREFIX = 'https://hooks.slack.com/services/';
const GOOD = 'https://hooks.slack.com/services/T000/B000/XXXXXXXXXXXXXXXXXXXXXXXX';

describe('a chat hook', () => {
  it('is taken when it lies under the prefix, in its normal form', () => {
    expect(parseChatHook(GOOD, PREFIX)).toBe(GOOD);
    expect(parseChatHook('HTTPS://Hooks.Slack.com:443/services/T/B', PREFIX)).toBe(
      'https://hooks.slack.com/services/T/B',
    );
    expect(parseChatHook(`${GOOD}?thread=1`, PREFIX)).toBe(`${GOOD}?thread=1`);
  });

  it.each([
    ['another host that starts alike', 'https://hooks.slack.com.evil.example/services/T/B'],
    ['a user name that looks like the host', 'https://hooks.slack.com@evil.example/services/T/B'],
    ['user information', 'https://user:pw@hooks.slack.com/services/T/B'],
    ['another port', 'https://hooks.slack.com:8443/services/T/B'],
    ['another protocol', 'http://hooks.slack.com/services/T/B'],
    ['no address at all', 'javascript:alert(1)'],
    ['another path', 'https://hooks.slack.com/workflows/T/B'],
    ['a path that starts alike', 'https://hooks.slack.com/servicesx/T/B'],
    ['the bare prefix', PREFIX],
    ['a step out', 'https://hooks.slack.com/services/../api/T'],
    ['an encoded step out', 'https://hooks.slack.com/services/%2e%2e/api'],
    ['a half-encoded step out', 'https://hooks.slack.com/services/T/..%2f..%2fapi'],
    ['a backslash step out', 'https://hooks.slack.com/services\\..\\api'],
    ['a parameter step out', 'https://hooks.slack.com/services/..;/api'],
    ['white space the parser would drop', 'https://hooks.slack.com/services/T\t/B'],
    ['a space before', ` ${GOOD}`],
    ['a fragment', `${GOOD}#x`],
    ['a look-alike letter', 'https://hооks.slack.com/services/T/B'],
    ['nothing', ''],
  ])('is refused with %s', (_what, text) => {
    expect(parseChatHook(text, PREFIX)).toBeNull();
  });

  it('must go on after a whole path segment when the prefix has no slash at its end', () => {
    expect(parseChatHook('https://chat.example/hooks/1', 'https://chat.example/hooks')).not.toBeNull();
    expect(parseChatHook('https://chat.example/hooks-evil/1', 'https://chat.example/hooks')).toBeNull();
  });

  it('is shown by its first 40 characters only', () => {
    expect(maskChatHook(GOOD)).toBe(`${GOOD.slice(0, 40)}...`);
  });
});
