import { formatUsd, MICRODOLLARS_PER_USD } from '../../contract/money.ts';

/** So many days back the same hour is compared with. */
export const HISTORY_DAYS = 14;
/** Before that there is no habit to depart from. */
const MIN_HISTORY_DAYS = 5;
/** Less than this beyond the usual is nobody's worry. */
export const FLOOR_MICRODOLLARS = MICRODOLLARS_PER_USD;

/** Makes the median of absolute deviations comparable with a standard deviation. */
const DEVIATION_SCALE = 1.4826;
/** A spend that never varied would make any change infinitely strange. */
const MIN_SPREAD_SHARE = 0.1;
const MIN_SPREAD_MICRODOLLARS = FLOOR_MICRODOLLARS / 5;
const SCORE_WARNING = 5;
/** Ten times the usual, and of that ten times the floor at least. */
const CRITICAL_FACTOR = 10;
const MAX_DRIVERS = 3;

export type AnomalyDimension = 'tenant_total' | 'team' | 'service' | 'model';

/** What one value of one dimension spent in an hour, and in the same hour of the days before. */
export interface HourlySpend {
  dimension: AnomalyDimension;
  /** The team's id, the service's or model's name; empty for the whole tenant. */
  value: string;
  spendMicrodollars: number;
  /** One for each day since it was first seen, at most `HISTORY_DAYS`; zero where nothing was spent. */
  historyMicrodollars: readonly number[];
}

export interface Anomaly extends HourlySpend {
  medianMicrodollars: number;
  /** Median of the absolute deviations from the median. */
  madMicrodollars: number;
  thresholdMicrodollars: number;
  /** How many usual deviations away it is. */
  score: number;
}

/**
 * Median and median deviation instead of mean and standard deviation: one odd day in the fourteen changes them
 * little, so that yesterday's runaway does not hide today's.
 */
export function judgeSpend(spend: HourlySpend): Anomaly | null {
  if (spend.historyMicrodollars.length < MIN_HISTORY_DAYS) return null;
  const medianMicrodollars = Math.round(median(spend.historyMicrodollars));
  const madMicrodollars = Math.round(
    median(spend.historyMicrodollars.map((value) => Math.abs(value - medianMicrodollars))),
  );
  const spread = Math.max(
    madMicrodollars * DEVIATION_SCALE,
    medianMicrodollars * MIN_SPREAD_SHARE,
    MIN_SPREAD_MICRODOLLARS,
  );
  const thresholdMicrodollars = Math.round(
    medianMicrodollars + Math.max(FLOOR_MICRODOLLARS, spread * SCORE_WARNING),
  );
  if (spend.spendMicrodollars < thresholdMicrodollars) return null;
  const score = Math.round(((spend.spendMicrodollars - medianMicrodollars) / spread) * 10) / 10;
  return { ...spend, medianMicrodollars, madMicrodollars, thresholdMicrodollars, score };
}

/**
 * One anomaly an hour at most, the one to look at: the whole tenant's when that is unusual, else the part that
 * is furthest beyond its usual. The parts that stand behind it come with it. A runaway in one service would
 * otherwise be told four times: as its service's, its team's, its model's and everybody's.
 */
export function findAnomaly(
  spends: readonly HourlySpend[],
): { anomaly: Anomaly; drivers: readonly Anomaly[] } | null {
  const found = spends.flatMap((spend) => judgeSpend(spend) ?? []);
  const parts = found
    .filter(({ dimension }) => dimension !== 'tenant_total')
    .sort((a, b) => excess(b) - excess(a));
  const total = found.find(({ dimension }) => dimension === 'tenant_total');
  const anomaly = total ?? parts[0];
  if (!anomaly) return null;
  return { anomaly, drivers: parts.filter((part) => part !== anomaly).slice(0, MAX_DRIVERS) };
}

function excess(anomaly: Anomaly): number {
  return anomaly.spendMicrodollars - anomaly.medianMicrodollars;
}

function anomalySeverity(anomaly: Anomaly): 'warning' | 'critical' {
  const usual = Math.max(anomaly.medianMicrodollars, FLOOR_MICRODOLLARS);
  return anomaly.spendMicrodollars >= CRITICAL_FACTOR * usual ? 'critical' : 'warning';
}

/** `names` finds a team's name; the other values are names already. */
export function anomalyAlert(
  found: { anomaly: Anomaly; drivers: readonly Anomaly[] },
  hourStartMs: number,
  names: ReadonlyMap<string, string>,
): {
  type: 'cost_anomaly';
  severity: 'warning' | 'critical';
  title: string;
  metadata: Record<string, unknown>;
  cause: string;
} {
  const { anomaly, drivers } = found;
  const hour = new Date(hourStartMs).toISOString();
  const nameOf = ({ value }: HourlySpend) => names.get(value) ?? value;
  const whose =
    anomaly.dimension === 'tenant_total' ? 'your account' : `${anomaly.dimension} ${nameOf(anomaly)}`;
  return {
    type: 'cost_anomaly',
    severity: anomalySeverity(anomaly),
    title: `Unusual spend of ${whose}: ${dollars(anomaly.spendMicrodollars)} in one hour, ${dollars(anomaly.medianMicrodollars)} is usual`,
    metadata: {
      dimension_type: anomaly.dimension,
      dimension_value: nameOf(anomaly),
      ...(anomaly.dimension === 'team' && { team_id: anomaly.value }),
      hour_start: hour,
      spend_microdollars: anomaly.spendMicrodollars,
      spend_usd: formatUsd(anomaly.spendMicrodollars),
      median_microdollars: anomaly.medianMicrodollars,
      median_usd: formatUsd(anomaly.medianMicrodollars),
      deviation_microdollars: anomaly.madMicrodollars,
      threshold_microdollars: anomaly.thresholdMicrodollars,
      score: anomaly.score,
      history_days: anomaly.historyMicrodollars.length,
      drivers: drivers.map((driver) => ({
        dimension_type: driver.dimension,
        dimension_value: nameOf(driver),
        spend_microdollars: driver.spendMicrodollars,
        median_microdollars: driver.medianMicrodollars,
      })),
    },
    cause: `anomaly:${anomaly.dimension}:${anomaly.value}:${hour}`,
  };
}

function dollars(microdollars: number): string {
  return `$${formatUsd(Math.round(microdollars / 10_000) * 10_000).slice(0, -4)}`;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
