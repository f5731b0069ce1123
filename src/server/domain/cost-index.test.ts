import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formGroups, makeBucket, mergeGroups, type Share } from './cost-index.ts';

const DAY = '2026-06-10';

/** A tenant with so many requests at each of these costs; bins as wide as the store makes them. */
const share = (tenant_id: string, costs: Record<number, number>): Share => ({
  tenant_id,
  bins: Object.entries(costs).map(([cost, requests]) => ({
    bin: Math.floor(Math.log2(Number(cost) + 1) * 8),
    requests,
    cost_microdollars: Number(cost) * requests,
  })),
});
const bucketOf = (shares: readonly Share[]) => makeBucket(formGroups(shares, DAY));

describe('a bucket of the cost index', () => {
  it('does not exist with fewer than three tenants that had requests', () => {
    const two = [share('a', { 100: 5 }), share('b', { 100: 5 })];
    expect(bucketOf(two)).toBeNull();
    expect(bucketOf([...two, share('c', {})])).toBeNull();
    expect(bucketOf([...two, share('c', { 100: 1 })])?.tenant_count).toBe(3);
  });

  it('has the exact mean and percentiles of requests that fall into bins of their own', () => {
    const tenants = ['a', 'b', 'c', 'd'].map((id) => share(id, { 100: 10, 1000: 9, 50000: 1 }));
    expect(bucketOf(tenants)).toEqual({
      avg_cost_microdollars: (100 * 10 + 1_000 * 9 + 50_000) / 20,
      p50_cost_microdollars: 100,
      p95_cost_microdollars: 1_000,
      total_requests: 80,
      tenant_count: 4,
    });
  });

  it('lets no tenant weigh more than all others together', () => {
    const crowd = [share('a', { 100: 10 }), share('b', { 100: 10 })];
    const bucket = bucketOf([...crowd, share('giant', { 900: 1_000_000 })])!;
    expect(bucket.total_requests).toBe(40);
    expect(bucket.avg_cost_microdollars).toBe(500);
    expect(bucket).toEqual(bucketOf([...crowd, share('giant', { 900: 20 })]));
  });

  it('tells counts with two digits only', () => {
    const tenants = (requests: number) => ['a', 'b', 'c'].map((id) => share(id, { 5: requests }));
    expect(bucketOf(tenants(33))!.total_requests).toBe(99);
    expect(bucketOf(tenants(41))!.total_requests).toBe(120);
    expect(bucketOf(tenants(43_211))!.total_requests).toBe(120_000);
  });
});

describe('a group', () => {
  const tenants = fc.array(fc.record({ requests: fc.nat(2_000), cost: fc.integer({ min: 1, max: 1e6 }) }), {
    maxLength: 60,
  });
  const sharesOf = (drawn: ReadonlyArray<{ requests: number; cost: number }>) =>
    drawn.map(({ requests, cost }, place) => share(`tenant-${place}`, requests ? { [cost]: requests } : {}));

  it('is of three to nine tenants with requests, each in one, none with more weight than the others', () => {
    fc.assert(
      fc.property(tenants, (drawn) => {
        const shares = sharesOf(drawn);
        const groups = formGroups(shares, DAY);
        const busy = shares.filter(({ bins }) => bins.length > 0).map(({ tenant_id }) => tenant_id);
        expect(groups.flatMap(({ members }) => members).sort()).toEqual(busy.length < 3 ? [] : busy.sort());
        for (const { members, bins } of groups) {
          expect(members.length).toBeGreaterThanOrEqual(3);
          expect(members.length).toBeLessThan(10);
          const weight = bins.reduce((sum, bin) => sum + bin.weight, 0n);
          for (const member of members) {
            const requests = shares.find(({ tenant_id }) => tenant_id === member)!.bins[0]!.requests;
            const others = members.filter((id) => id !== member);
            const own = weight - weightOf(others, shares, members);
            expect(own * 2n <= weight + 1_000_000n, `${member} of ${requests}`).toBe(true);
          }
        }
      }),
    );
  });

  it('is drawn anew every day, so that nobody can choose company', () => {
    const shares = Array.from({ length: 30 }, (_, place) => share(`tenant-${place}`, { 100: 1 }));
    const companyOn = (day: string) =>
      formGroups(shares, day).find(({ members }) => members.includes('tenant-0'))!.members;
    expect(companyOn('2026-06-10')).not.toEqual(companyOn('2026-06-11'));
    expect(companyOn('2026-06-10')).toEqual(companyOn('2026-06-10'));
  });

  it('takes in what its tenants send later, and others stay others', () => {
    const first = formGroups([share('a', { 8: 1 }), share('b', { 8: 1 }), share('c', { 8: 1 })], DAY);
    const again = formGroups([share('b', { 8: 2 }), share('c', { 64: 2 }), share('a', { 8: 2 })], DAY);
    const other = formGroups([share('b', { 8: 2 }), share('c', { 64: 2 }), share('d', { 8: 2 })], DAY);
    expect(mergeGroups([...first, ...again, ...other]).map(({ members }) => members.join(''))).toEqual([
      'abc',
      'bcd',
    ]);
    expect(makeBucket(mergeGroups([...first, ...again]))).toEqual({
      avg_cost_microdollars: Math.round((7 * 8 + 2 * 64) / 9),
      p50_cost_microdollars: 8,
      p95_cost_microdollars: 64,
      total_requests: 9,
      tenant_count: 3,
    });
  });
});

/** What some members of a group weigh in it, reckoned from what they sent. */
function weightOf(some: readonly string[], shares: readonly Share[], members: readonly string[]): bigint {
  const sent = (id: string) => shares.find(({ tenant_id }) => tenant_id === id)!.bins[0]!.requests;
  const all = members.reduce((sum, id) => sum + sent(id), 0);
  return some.reduce((sum, id) => sum + BigInt(Math.min(sent(id), all - sent(id))) * 1_000_000n, 0n);
}
