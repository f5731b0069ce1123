import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Attribution,
  isGatewayHeader,
  type KeyScope,
  makeTeamDirectory,
  readAttribution,
} from './attribution.ts';

const PLATFORM = { id: '018f0000-0000-7000-8000-000000000001', slug: 'platform', name: 'Platform Team' };
const MIMIC = { id: '018f0000-0000-7000-8000-000000000002', slug: 'mimic', name: 'platform' };
const TEAMS = makeTeamDirectory([MIMIC, PLATFORM]);
const OPEN: KeyScope = { team_id: null, service: null };

function read(headers: Record<string, string> | string[], scope: KeyScope = OPEN): Attribution {
  return readAttribution(Array.isArray(headers) ? headers : Object.entries(headers).flat(), scope, TEAMS);
}
/** As node hands over the bytes of a UTF-8 header. */
const onTheWire = (text: string) => Buffer.from(text, 'utf8').toString('latin1');

describe('the dimensions of a request', () => {
  it('come from their headers, whatever their case', () => {
    const attribution = read({
      'X-Gateway-Team': 'platform',
      'x-gateway-service': 'checkout',
      'X-GATEWAY-USER': 'ann',
      'X-Gateway-End-Customer': 'acme',
      'X-Gateway-Agent': 'planner',
      'Content-Type': 'application/json',
    });
    expect(attribution).toEqual({
      team: PLATFORM,
      service: 'checkout',
      user: 'ann',
      end_customer: 'acme',
      agent: 'planner',
      tags: {},
    });
  });

  it('are null when no header names them or the header is blank', () => {
    const nothing = { team: null, service: null, user: null, end_customer: null, agent: null, tags: {} };
    expect(read({})).toEqual(nothing);
    expect(read({ 'X-Gateway-User': ' \t ', 'X-Gateway-Team': '', 'X-Gateway-Unknown': 'x' })).toEqual(
      nothing,
    );
  });

  it('take the first of a header sent twice', () => {
    expect(read(['X-Gateway-User', 'first', 'X-Gateway-User', 'second']).user).toBe('first');
    expect(read(['X-Gateway-User', ' ', 'X-Gateway-User', 'second']).user).toBe('second');
  });

  it('are UTF-8 where the bytes are, and latin1 where they are not', () => {
    expect(read({ 'X-Gateway-User': onTheWire('Zoë 🚀 平台') }).user).toBe('Zoë 🚀 平台');
    expect(read({ 'X-Gateway-User': 'Zo\xeb' }).user).toBe('Zoë');
  });

  it('lose control characters and are cut at 256 bytes between characters', () => {
    expect(read({ 'X-Gateway-User': 'a\0b\x07c\x7fd\te' }).user).toBe('abcde');
    expect(read({ 'X-Gateway-User': 'x'.repeat(300) }).user).toBe('x'.repeat(256));
    expect(read({ 'X-Gateway-User': onTheWire(`a${'é'.repeat(200)}`) }).user).toBe(`a${'é'.repeat(127)}`);
    expect(read({ 'X-Gateway-User': onTheWire(`ab${'🚀'.repeat(100)}`) }).user).toBe(`ab${'🚀'.repeat(63)}`);
  });
});

describe('the team of a request', () => {
  it('answers to its id, slug and name', () => {
    for (const text of [PLATFORM.id, PLATFORM.slug, PLATFORM.name]) {
      expect(read({ 'X-Gateway-Team': text }).team).toEqual(PLATFORM);
    }
  });

  it('cannot be taken over by another team that bears its slug as a name', () => {
    expect(read({ 'X-Gateway-Team': 'platform' }).team).toEqual(PLATFORM);
  });

  it('is none when nobody answers, its text kept as a tag that no tag of the caller replaces', () => {
    const attribution = read({ 'X-Gateway-Tags': 'team_header=forged,a=b', 'X-Gateway-Team': 'Nobody' });
    expect(attribution.team).toBeNull();
    expect(attribution.tags).toEqual({ team_header: 'Nobody', a: 'b' });
  });

  it('keeps that text even beside 32 tags', () => {
    const list = Array.from({ length: 40 }, (_, index) => `k${index}=v`).join(',');
    const { tags } = read({ 'X-Gateway-Tags': list, 'X-Gateway-Team': 'Nobody' });
    expect(Object.keys(tags)).toHaveLength(32);
    expect(tags.team_header).toBe('Nobody');
  });

  it('and the service are the key’s own when it is bound to them', () => {
    const scope = { team_id: PLATFORM.id, service: 'billing' };
    const attribution = read({ 'X-Gateway-Team': 'mimic', 'X-Gateway-Service': 'other' }, scope);
    expect(attribution).toMatchObject({ team: PLATFORM, service: 'billing', tags: {} });
  });

  it('stays the key’s own when the directory does not know it', () => {
    expect(read({ 'X-Gateway-Team': 'platform' }, { team_id: 'gone', service: null }).team?.id).toBe('gone');
    expect(read({}, { team_id: 'platform', service: null }).team?.id).toBe('platform');
  });
});

describe('tags', () => {
  it('come percent-encoded in one header and plain in headers of their own', () => {
    const { tags } = read({
      'X-Gateway-Tags': 'env=prod, cost%20center = R%26D%2C%20Berlin ,empty=,eq=a=b',
      'X-Gateway-Tag-Feature-Flag': 'on, really',
    });
    expect(tags).toEqual({
      env: 'prod',
      'cost center': 'R&D, Berlin',
      empty: '',
      eq: 'a=b',
      'feature-flag': 'on, really',
    });
  });

  it('that are malformed are left out or kept as text, and never fail the request', () => {
    expect(read({ 'X-Gateway-Tags': ',,=x,noequals,ok=100%,%zz=1,%00=nul,a=%00b' }).tags).toEqual({
      ok: '100%',
      '%zz': '1',
      a: 'b',
    });
    expect(read({ 'X-Gateway-Tag-': 'nameless' }).tags).toEqual({});
  });

  it('named after parts of every object are ordinary tags', () => {
    const { tags } = read({ 'X-Gateway-Tags': '__proto__=x,constructor=y' });
    expect(JSON.stringify(tags)).toBe('{"__proto__":"x","constructor":"y"}');
    expect(Object.getPrototypeOf(tags)).toBe(Object.prototype);
  });

  it('keep the first of two with one key', () => {
    expect(read({ 'X-Gateway-Tags': 'a=1,a=2', 'X-Gateway-Tag-A': '3' }).tags).toEqual({ a: '1' });
  });

  it('stay within 32 tags, 64-byte keys and 256-byte values, storable as PostgreSQL text, for any headers', () => {
    const names = fc.constantFrom(
      'X-Gateway-Team',
      'X-Gateway-User',
      'X-Gateway-Tags',
      'x-gateway-tag-é',
      `X-Gateway-Tag-${'n'.repeat(100)}`,
      'X-Gateway-Agent',
    );
    const texts = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 400 }),
      fc.string({ unit: 'binary', maxLength: 400 }).map(onTheWire),
      fc
        .array(fc.tuple(fc.string(), fc.string()), { maxLength: 60 })
        .map((pairs) => pairs.map((p) => p.join('=')).join(',')),
      fc
        .array(fc.string({ maxLength: 3 }), { maxLength: 60 })
        .map((keys) => keys.map((k) => `%${k}=%u${k}`).join(',')),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(names, texts), { maxLength: 20 }), (pairs) => {
        const { team: _team, tags, ...dimensions } = read(pairs.flat());
        const keys = Object.keys(tags);
        expect(keys.length).toBeLessThanOrEqual(32);
        for (const key of keys) expect(Buffer.byteLength(key)).toBeLessThanOrEqual(64);
        for (const text of [...keys, ...Object.values(tags), ...Object.values(dimensions)]) {
          if (text === null) continue;
          expect(Buffer.byteLength(text)).toBeLessThanOrEqual(256);
          expect(text).not.toMatch(/\p{Cc}|\p{Surrogate}/u);
        }
      }),
    );
  });
});

describe('isGatewayHeader', () => {
  it('knows all of ours, also those not read, and none of the provider’s', () => {
    for (const name of ['x-gateway-team', 'x-gateway-tags', 'x-gateway-tag-a', 'x-gateway-anything']) {
      expect(isGatewayHeader(name)).toBe(true);
    }
    for (const name of ['x-gateway', 'gateway-team', 'anthropic-version'])
      expect(isGatewayHeader(name)).toBe(false);
  });
});
