import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseFreeSlug, deriveSlug } from './teams.ts';

const SLUG = /^[a-z0-9]+(-[a-z0-9]+)*$/;

describe('a slug', () => {
  it.each([
    ['Platform', 'platform'],
    ['  Data & ML / Ops ', 'data-ml-ops'],
    ['Équipe Données', 'equipe-donnees'],
    ['Straße Øst', 'strasse-ost'],
    ['ﬁnance Ⅳ', 'finance-iv'],
    ['R&D--2', 'r-d-2'],
    ['日本チーム', 'team'],
    ['!!!', 'team'],
  ])('of %j is %j', (name, slug) => {
    expect(deriveSlug(name)).toBe(slug);
  });

  it('of any name is short, lower-case ASCII with single dashes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 90 }), (name) => {
        const slug = deriveSlug(name);
        return SLUG.test(slug) && slug.length <= 64;
      }),
    );
  });

  it('that is taken gets the first free number, and stays a slug', () => {
    expect(chooseFreeSlug('ops', new Set(['ops', 'ops-2', 'ops-4']))).toBe('ops-3');
    const long = `${'a'.repeat(62)}-b`;
    const next = chooseFreeSlug(long, new Set([long]));
    expect(next).toMatch(SLUG);
    expect(next).toBe(`${'a'.repeat(62)}-2`);
  });

  it('is never one of those taken', () => {
    const slug = fc.stringMatching(/^[ab](-[ab2-4]){0,3}$/);
    fc.assert(
      fc.property(slug, fc.array(slug), (wanted, taken) => {
        const free = chooseFreeSlug(wanted, new Set(taken));
        return !taken.includes(free) && SLUG.test(free) && free.length <= 64;
      }),
    );
  });
});
