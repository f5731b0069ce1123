import { useQueries } from '@tanstack/react-query';
import { MAX_HOUR_SERIES_DAYS } from '../../contract/usage.ts';
import { apiQuery } from '../api.ts';
import { formatMoney } from '../numbers.ts';
import { type DayRange, daysIn } from '../time.ts';
import { EmptyState, ErrorState } from '../ui/EmptyState.tsx';
import { Skeleton } from '../ui/Skeleton.tsx';
import type { Series } from './Figure.tsx';
import { TimeChart } from './TimeChart.tsx';

const MAX_HOURLY_DAYS = 3;
const COLOURS = ['--series-1', '--series-2', '--series-3', '--series-4', '--series-5'] as const;
const REFRESH_MS = 30_000;

/** The filters of usage reports that a chart can be narrowed by. */
export interface UsageFilter {
  team_id?: string;
  model?: string;
  service?: string;
}

/** Spend over time, stacked: the models named, and all others as one. */
export function SpendChart({
  range,
  models,
  filter = {},
}: {
  range: DayRange;
  models: readonly string[];
  filter?: UsageFilter;
}) {
  const bucket = daysIn(range) <= Math.min(MAX_HOURLY_DAYS, MAX_HOUR_SERIES_DAYS) ? 'hour' : 'day';
  const stacked = models.slice(0, COLOURS.length);
  const query = { from: range.from, to: range.to, bucket, ...filter } as const;
  const results = useQueries({
    queries: [undefined, ...stacked].map((model) => ({
      ...apiQuery('getUsageTimeseries', { query: { ...query, ...(model !== undefined && { model }) } }),
      refetchInterval: REFRESH_MS,
    })),
  });
  const failed = results.find(({ data, error }) => error && !data)?.error;
  if (failed) return <ErrorState error={failed} />;
  const [total, ...parts] = results.map(({ data }) => data?.data);
  if (!total || parts.some((part) => !part)) return <Skeleton className="m-4 h-72" />;
  const series: Series[] = stacked.map((model, at) => ({
    label: model,
    colour: COLOURS[at]!,
    values: parts[at]!.map((row) => row.cost_microdollars),
  }));
  const others = total.map((row, at) =>
    Math.max(0, row.cost_microdollars - series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0)),
  );
  if (others.some((value) => value > 0)) {
    series.push({
      label: stacked.length === 0 ? 'all models' : 'other models',
      colour: '--series-6',
      values: others,
    });
  }
  const sum = total.reduce((before, row) => before + row.cost_microdollars, 0);
  if (sum === 0)
    return <EmptyState title="No spend in this range">Each day’s spend stands here, by model.</EmptyState>;
  return (
    <TimeChart
      bars
      bucket={bucket}
      label={`Spend per ${bucket}, ${range.from} to ${range.to}: ${formatMoney(sum)} in all`}
      times={total.map((row) => Date.parse(row.bucket) / 1000)}
      series={series}
      format={formatMoney}
    />
  );
}
