import { Link } from '@tanstack/react-router';
import { useEffect, useMemo } from 'react';
import { PROVIDER_LABELS, PROVIDERS, type Provider } from '../../contract/providers.ts';
import { MIN_INDEX_TENANTS } from '../../contract/public.ts';
import { type RowOf, useApi } from '../api.ts';
import { TimeChart } from '../charts/TimeChart.tsx';
import { formatCompact, formatMoney, microdollarsOf } from '../numbers.ts';
import { Card } from '../ui/Card.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { Select } from '../ui/Field.tsx';
import { FilterSelect } from '../ui/Filter.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Money } from '../ui/Money.tsx';
import { Page } from '../ui/Page.tsx';
import { Wordmark } from '../ui/Shell.tsx';
import { ThemeSwitch } from '../ui/Switches.tsx';
import { type Column, Table } from '../ui/Table.tsx';
import { useUrlState } from '../url-state.ts';

type Bucket = RowOf<'getCostIndex'>;

const WINDOWS = ['7', '30', '90', '365'];
const COLOURS = ['--series-1', '--series-2', '--series-3', '--series-4', '--series-5'];

/** Open to everyone: what a request costs, over all accounts that share. */
export function CostIndexPage() {
  const [{ provider, days = '90' }, set] = useUrlState();
  const query = {
    days: WINDOWS.includes(days) ? Number(days) : 90,
    ...(provider && { provider: provider as Provider }),
  };
  const index = useApi('getCostIndex', { query });
  useEffect(() => {
    document.title = 'Cost index · Gateway';
  }, []);
  return (
    <>
      <header className="flex h-14 items-center justify-between gap-4 border-b border-line bg-surface px-4 sm:px-6">
        <Link to="/" aria-label="Gateway">
          <Wordmark />
        </Link>
        <div className="w-48">
          <ThemeSwitch />
        </div>
      </header>
      <main>
        <Page
          title="Public cost index"
          note={`What a request costs in practice, by model and day, over the accounts that chose to share. A day is shown only where at least ${MIN_INDEX_TENANTS} of them used the model.`}
          actions={
            <>
              <FilterSelect
                label="Provider"
                name="provider"
                any="All providers"
                choices={PROVIDERS.map((value) => ({ value, label: PROVIDER_LABELS[value] }))}
              />
              <Select
                bare
                label="Window"
                value={String(query.days)}
                choices={WINDOWS.map((value) => ({ value, label: `Last ${value} days` }))}
                onChange={({ target }) => set({ days: target.value })}
              />
            </>
          }
        >
          <Loaded query={index}>{({ data }) => <Index buckets={data} />}</Loaded>
        </Page>
      </main>
    </>
  );
}

interface ModelLine {
  model: string;
  provider: Provider;
  latest: Bucket;
  requests: number;
  byDay: Map<string, number>;
}

function linesOf(buckets: readonly Bucket[]): ModelLine[] {
  const lines = new Map<string, ModelLine>();
  for (const bucket of buckets) {
    const key = `${bucket.provider} ${bucket.model_id}`;
    const line = lines.get(key) ?? {
      model: bucket.model_id,
      provider: bucket.provider,
      latest: bucket,
      requests: 0,
      byDay: new Map(),
    };
    if (bucket.date > line.latest.date) line.latest = bucket;
    line.requests += bucket.total_requests;
    line.byDay.set(bucket.date, microdollarsOf(bucket.p50_cost_usd));
    lines.set(key, line);
  }
  return [...lines.values()].sort((a, b) => b.requests - a.requests);
}

function Index({ buckets }: { buckets: readonly Bucket[] }) {
  const lines = useMemo(() => linesOf(buckets), [buckets]);
  const days = useMemo(() => [...new Set(buckets.map(({ date }) => date))].sort(), [buckets]);
  const columns: Column<ModelLine>[] = [
    { head: 'Model', cell: (line) => <span className="font-medium">{line.model}</span> },
    {
      head: 'Provider',
      from: 'sm',
      cell: (line) => <span className="text-muted">{PROVIDER_LABELS[line.provider]}</span>,
    },
    { head: 'Latest day', from: 'md', cell: (line) => line.latest.date },
    { head: 'Accounts', from: 'md', numeric: true, cell: (line) => line.latest.tenant_count },
    { head: 'Requests', from: 'sm', numeric: true, cell: (line) => `~${formatCompact(line.requests)}` },
    {
      head: 'Median',
      numeric: true,
      cell: (line) => <Money microdollars={microdollarsOf(line.latest.p50_cost_usd)} />,
    },
    {
      head: 'Average',
      numeric: true,
      cell: (line) => <Money microdollars={microdollarsOf(line.latest.avg_cost_usd)} />,
    },
    {
      head: '95th percentile',
      from: 'sm',
      numeric: true,
      cell: (line) => <Money microdollars={microdollarsOf(line.latest.p95_cost_usd)} />,
    },
  ];
  if (lines.length === 0) {
    return (
      <Card>
        <EmptyState title="Nothing to show yet">
          Too few accounts share what their requests cost. Take part under Settings; no names and no texts are
          shared.
        </EmptyState>
      </Card>
    );
  }
  return (
    <>
      <Card title="Median cost of a request" note="The five models with the most requests">
        <TimeChart
          label="Median cost of a request per day, by model"
          bucket="day"
          times={days.map((day) => Date.parse(day) / 1000)}
          series={lines.slice(0, COLOURS.length).map((line, at) => ({
            label: line.model,
            colour: COLOURS[at]!,
            values: days.map((day) => line.byDay.get(day) ?? null),
          }))}
          format={formatMoney}
        />
      </Card>
      <Card title="By model">
        <Table
          label="Cost of a request by model"
          columns={columns}
          rows={lines}
          rowKey={(line) => `${line.provider} ${line.model}`}
        />
      </Card>
    </>
  );
}
