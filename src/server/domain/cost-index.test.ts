import { describe, expect, it } from 'vitest';
import { makeBucket, type Share } from './cost-index.ts';

/** A tenant with so many requests at each of these costs; bins as wide as the store makes them. */
const share = (tenant_id: string, costs: Record<number, number>): Share => ({
  tenant_id,
  bins: Object.entries(costs).map(([cost, requests]) => ({
    bin: Math.floor(Math.log2(Number(cost) + 1) * 8),
    requests,
    cost_microdollars: Number(cost) * requests,
  })),
});

describe('a bucket of the cost index', () => {
  it('does not exist with fewer than three tenants that had requests', () => {
    const two = [share('a', { 100: 5 }), share('b', { 100: 5 })];
    expect(makeBucket(two)).toBeNull();
    expect(makeBucket([...two, share('c', {})])).toBeNull();
    expect(makeBucket([...two, share('c', { 100: 1 })])?.tenant_count).toBe(3);
  });

  it('has the exact mean and percentiles of requests that fall into bins of their own', () => {
    const tenants = ['a', 'b', 'c', 'd'].map((id) => share(id, { 100: 10, 1000: 9, 50000: 1 }));
    expect(makeBucket(tenants)).toEqual({
      avg_cost_microdollars: (100 * 10 + 1_000 * 9 + 50_000) / 20,
      p50_cost_microdollars: 100,
      p95_cost_microdollars: 1_000,
      total_requests: 80,
      tenant_count: 4,
    });
  });

  it('lets no tenant weigh more than all others together', () => {
    const crowd = [share('a', { 100: 10 }), share('b', { 100: 10 })];
    const bucket = makeBucket([...crowd, share('giant', { 900: 1_000_000 })])!;
    expect(bucket.total_requests).toBe(40);
    expect(bucket.avg_cost_microdollars).toBe(500);
    expect(bucket).toEqual(makeBucket([...crowd, share('giant', { 900: 20 })]));
  });

  it('tells counts with two digits only', () => {
    const tenants = (requests: number) => ['a', 'b', 'c'].map((id) => share(id, { 5: requests }));
    expect(makeBucket(tenants(33))!.total_requests).toBe(99);
    expect(makeBucket(tenants(41))!.total_requests).toBe(120);
    expect(makeBucket(tenants(43_211))!.total_requests).toBe(120_000);
  });
});
