import { createHash } from 'node:crypto';
import { MIN_INDEX_TENANTS } from '../../contract/public.ts';

/**
 * The public cost index: what a request costs, over tenants that share. Nobody may be singled out by taking one
 * answer off another, whatever lies between the two: a filter, ten minutes, somebody who joined, somebody who left.
 *
 * What is published is therefore made of groups. A group is a sum over three or more tenants, made once and kept as
 * a sum; a bucket is the sum of whole groups. Two answers about a bucket differ by whole groups, so every difference
 * is of three tenants or more, as every bucket is:
 * - What tenants sent since the last build waits until three of them have sent something, and then becomes a group.
 *   One who joins alone, or is alone busy, changes nothing that can be seen. What has found no company by the end
 *   of the day stays out.
 * - In a group no tenant weighs more than the others together, so that a group of a giant and two dwarfs is not the
 *   giant's. Groups are small where there are many tenants, and who is in one with whom is drawn by lot every day.
 * - Who leaves takes its groups along at once, on all days: the sums it was in are gone for good, and what the
 *   others had in them is never part of another sum. Who comes back starts with the next day.
 * - A query chooses among buckets; none changes what is in one. Counts have two significant digits. A day that is
 *   over is closed.
 *
 * What remains: tenants that are one person know what the rest of their group is, and a group may be two of them
 * and one other.
 */
export const BINS_PER_DOUBLING = 8;

/** What one tenant sent to one model: how many requests fell into each bin of cost, and what they cost. */
export interface Share {
  tenant_id: string;
  bins: ReadonlyArray<{ bin: number; requests: number; cost_microdollars: number }>;
}

export interface IndexGroup {
  /** In order, so that the same tenants are the same group. */
  members: readonly string[];
  bins: readonly GroupBin[];
}

interface GroupBin {
  bin: number;
  /** In millionths of a request. */
  weight: bigint;
  /** Microdollars times weight. */
  weightedCost: bigint;
}

export interface IndexFigures {
  avg_cost_microdollars: number;
  p50_cost_microdollars: number;
  p95_cost_microdollars: number;
  total_requests: number;
  tenant_count: number;
}

/** From twice as many on there is more than one group, and one who leaves takes only its own along. */
const GROUP_TENANTS = 5;
const WEIGHT_SCALE = 1_000_000n;
const SIGNIFICANT = 100;

/** Puts together what waits; nothing when it is of too few. */
export function formGroups(shares: readonly Share[], day: string): IndexGroup[] {
  const lot = (tenantId: string) => createHash('sha256').update(`${day} ${tenantId}`).digest('hex');
  const drawn = shares
    .map((share) => ({ share, requests: share.bins.reduce((sum, bin) => sum + bin.requests, 0) }))
    .filter(({ requests }) => requests > 0)
    .map((sent) => ({ ...sent, lot: lot(sent.share.tenant_id) }))
    .sort((a, b) => (a.lot < b.lot ? -1 : 1));
  if (drawn.length < MIN_INDEX_TENANTS) return [];
  const count = Math.max(1, Math.floor(drawn.length / GROUP_TENANTS));
  return Array.from({ length: count }, (_, place) =>
    sumGroup(
      drawn.slice(place * GROUP_TENANTS, place === count - 1 ? undefined : (place + 1) * GROUP_TENANTS),
    ),
  );
}

function sumGroup(sent: ReadonlyArray<{ share: Share; requests: number }>): IndexGroup {
  const all = sent.reduce((sum, { requests }) => sum + requests, 0);
  const bins = sent.flatMap(({ share, requests }) => {
    const counted = BigInt(Math.min(requests, all - requests)) * WEIGHT_SCALE;
    const scaled = (value: number) => (BigInt(value) * counted) / BigInt(requests);
    return share.bins.map((bin) => ({
      bin: bin.bin,
      weight: scaled(bin.requests),
      weightedCost: scaled(bin.cost_microdollars),
    }));
  });
  return { members: sent.map(({ share }) => share.tenant_id).sort(), bins: sumBins(bins) };
}

/** Groups of the same tenants become one: whoever leaves would take both. */
export function mergeGroups(groups: readonly IndexGroup[]): IndexGroup[] {
  const merged = new Map<string, IndexGroup>();
  for (const group of groups) {
    const key = group.members.join(' ');
    const known = merged.get(key);
    merged.set(key, known ? { ...group, bins: sumBins([...known.bins, ...group.bins]) } : group);
  }
  return [...merged.values()];
}

/** Null when no group is left. */
export function makeBucket(groups: readonly IndexGroup[]): IndexFigures | null {
  if (groups.length === 0) return null;
  const bins = sumBins(groups.flatMap((group) => group.bins));
  const weight = bins.reduce((sum, bin) => sum + bin.weight, 0n);
  const weightedCost = bins.reduce((sum, bin) => sum + bin.weightedCost, 0n);
  return {
    avg_cost_microdollars: meanOf({ weight, weightedCost }),
    p50_cost_microdollars: percentile(bins, weight, 50n),
    p95_cost_microdollars: percentile(bins, weight, 95n),
    total_requests: twoSignificantDigits(Number((weight + WEIGHT_SCALE / 2n) / WEIGHT_SCALE)),
    tenant_count: new Set(groups.flatMap((group) => group.members)).size,
  };
}

function sumBins(bins: readonly GroupBin[]): GroupBin[] {
  const sums = new Map<number, GroupBin>();
  for (const { bin, weight, weightedCost } of bins) {
    const sum = sums.get(bin) ?? { bin, weight: 0n, weightedCost: 0n };
    sums.set(bin, {
      bin,
      weight: sum.weight + weight,
      weightedCost: sum.weightedCost + weightedCost,
    });
  }
  return [...sums.values()].sort((a, b) => a.bin - b.bin);
}

/** The mean of the bin in which the percentile falls. */
function percentile(bins: readonly GroupBin[], total: bigint, percent: bigint): number {
  let passed = 0n;
  for (const bin of bins) {
    passed += bin.weight;
    if (passed * 100n >= total * percent) return meanOf(bin);
  }
  return meanOf(bins.at(-1)!);
}

function meanOf({ weight, weightedCost }: Pick<GroupBin, 'weight' | 'weightedCost'>): number {
  return weight === 0n ? 0 : Number((weightedCost * 2n + weight) / (weight * 2n));
}

function twoSignificantDigits(count: number): number {
  let unit = 1;
  while (count / unit >= SIGNIFICANT) unit *= 10;
  return Math.floor(count / unit) * unit;
}
