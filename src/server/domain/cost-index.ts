import { MIN_INDEX_TENANTS } from '../../contract/public.ts';

/**
 * The public cost index: what a request costs, over tenants that share. What keeps a tenant from being singled
 * out, and what does not:
 * - A query can only choose among published buckets; no filter changes what is in one, so two queries of one
 *   moment tell nothing that one does not.
 * - A bucket has at least three tenants, and no tenant weighs more in it than all others together, so even a
 *   single large one is not what it shows.
 * - Counts are published with two significant digits, and a cost is never one tenant's alone.
 * - A day that is over is closed: who joins later does not change it. Who leaves takes its small buckets along;
 *   publishing them again without it would show by the difference what it had been.
 * - What remains: the running day is published again without a tenant that leaves, so whoever watched it before
 *   and after can guess at the share it had of today. And two tenants that are one person know the third.
 */
export const BINS_PER_DOUBLING = 8;
/** A closed bucket that a tenant has left is published again only among so many that one share is lost in them. */
export const MIN_TENANTS_TO_REPUBLISH = 10;

/** One tenant's requests of one day to one model: how many fell into each bin of cost, and what they cost. */
export interface Share {
  tenant_id: string;
  bins: ReadonlyArray<{ bin: number; requests: number; cost_microdollars: number }>;
}

export interface IndexFigures {
  avg_cost_microdollars: number;
  p50_cost_microdollars: number;
  p95_cost_microdollars: number;
  total_requests: number;
  tenant_count: number;
}

/** Weights are fractions of requests; this many parts of one request are told apart. */
const WEIGHT_SCALE = 1_000_000n;
const SIGNIFICANT = 100;

/** Null when there are too few tenants to publish anything. */
export function makeBucket(shares: readonly Share[]): IndexFigures | null {
  const tenants = shares
    .map((share) => ({ ...share, requests: share.bins.reduce((sum, bin) => sum + bin.requests, 0) }))
    .filter(({ requests }) => requests > 0);
  if (tenants.length < MIN_INDEX_TENANTS) return null;
  const all = tenants.reduce((sum, { requests }) => sum + requests, 0);

  const pooled = new Map<number, { weight: bigint; weightedCost: bigint }>();
  let counted = 0;
  for (const { bins, requests } of tenants) {
    const countedOfTenant = Math.min(requests, all - requests);
    counted += countedOfTenant;
    for (const bin of bins) {
      const pool = pooled.get(bin.bin) ?? { weight: 0n, weightedCost: 0n };
      const scaled = (value: number) =>
        (BigInt(value) * BigInt(countedOfTenant) * WEIGHT_SCALE) / BigInt(requests);
      pool.weight += scaled(bin.requests);
      pool.weightedCost += scaled(bin.cost_microdollars);
      pooled.set(bin.bin, pool);
    }
  }
  const bins = [...pooled.entries()].sort(([a], [b]) => a - b).map(([, pool]) => pool);
  const weight = bins.reduce((sum, bin) => sum + bin.weight, 0n);
  const weightedCost = bins.reduce((sum, bin) => sum + bin.weightedCost, 0n);
  return {
    avg_cost_microdollars: meanOf({ weight, weightedCost }),
    p50_cost_microdollars: percentile(bins, weight, 50n),
    p95_cost_microdollars: percentile(bins, weight, 95n),
    total_requests: twoSignificantDigits(counted),
    tenant_count: tenants.length,
  };
}

/** The mean of the bin in which the percentile falls. */
function percentile(
  bins: ReadonlyArray<{ weight: bigint; weightedCost: bigint }>,
  total: bigint,
  percent: bigint,
): number {
  let passed = 0n;
  for (const bin of bins) {
    passed += bin.weight;
    if (passed * 100n >= total * percent) return meanOf(bin);
  }
  return meanOf(bins.at(-1)!);
}

function meanOf({ weight, weightedCost }: { weight: bigint; weightedCost: bigint }): number {
  return weight === 0n ? 0 : Number((weightedCost * 2n + weight) / (weight * 2n));
}

function twoSignificantDigits(count: number): number {
  let unit = 1;
  while (count / unit >= SIGNIFICANT) unit *= 10;
  return Math.floor(count / unit) * unit;
}
