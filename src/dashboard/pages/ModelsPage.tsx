import { PROVIDER_LABELS, PROVIDERS } from '../../contract/providers.ts';
import { type RowOf, useApi } from '../api.ts';
import { formatCompact, formatRate } from '../numbers.ts';
import { Badge } from '../ui/Badge.tsx';
import { Card } from '../ui/Card.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { Field } from '../ui/Field.tsx';
import { FilterSelect } from '../ui/Filter.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Page } from '../ui/Page.tsx';
import { type Column, Table } from '../ui/Table.tsx';
import { Tabs } from '../ui/Tabs.tsx';
import { Time } from '../ui/Time.tsx';
import { useUrlState } from '../url-state.ts';
import { PriceChanges } from './PriceChanges.tsx';

type Model = RowOf<'listModels'>;

const TABS = [
  { id: 'prices', label: 'Prices' },
  { id: 'changes', label: 'Price changes' },
  { id: 'history', label: 'Decided changes' },
] as const;

export function ModelsPage() {
  const [{ tab }] = useUrlState();
  const current = TABS.find(({ id }) => id === tab)?.id ?? 'prices';
  const changes = useApi('listPriceChanges');
  return (
    <Page
      title="Models & price changes"
      note="What each model costs today, in US dollars per million tokens, and what changed for the ones you use."
    >
      <Tabs
        label="Models"
        current={current}
        tabs={TABS.map((one) => (one.id === 'changes' ? { ...one, count: changes.data?.length ?? 0 } : one))}
      />
      {current === 'prices' ? <Prices /> : <PriceChanges decided={current === 'history'} />}
    </Page>
  );
}

function rate(value: number | null): string {
  return value === null ? '–' : formatRate(value);
}

const PRICE_COLUMNS: Column<Model>[] = [
  {
    head: 'Model',
    cell: (row) => (
      <>
        <span className="font-medium">{row.model_id}</span>{' '}
        {row.status !== 'active' && <Badge tone="warn">{row.status}</Badge>}
      </>
    ),
  },
  {
    head: 'Provider',
    from: 'md',
    cell: (row) => <span className="text-muted">{PROVIDER_LABELS[row.provider]}</span>,
  },
  { head: 'Input', numeric: true, cell: (row) => rate(row.pricing_input_per_mtok) },
  { head: 'Cached', from: 'sm', numeric: true, cell: (row) => rate(row.pricing_cached_per_mtok) },
  { head: 'Cache write', from: 'lg', numeric: true, cell: (row) => rate(row.pricing_cache_write_per_mtok) },
  { head: 'Output', numeric: true, cell: (row) => rate(row.pricing_output_per_mtok) },
  {
    head: 'Context',
    from: 'md',
    numeric: true,
    cell: (row) => (row.context_window === null ? '–' : formatCompact(row.context_window)),
  },
  {
    head: 'Price as of',
    from: 'lg',
    numeric: true,
    cell: (row) => <Time at={row.pricing_updated_at} shape="longDay" />,
  },
];

function Prices() {
  const [{ provider, q = '' }, set] = useUrlState();
  const models = useApi('listModels');
  const matches = (row: Model) =>
    (!provider || row.provider === provider) && row.model_id.includes(q.toLowerCase());
  return (
    <Card
      title="Prices of today"
      actions={
        <>
          <Field
            bare
            label="Find a model"
            type="search"
            placeholder="Find a model"
            className="w-40"
            value={q}
            onChange={({ target }) => set({ q: target.value })}
          />
          <FilterSelect
            label="Provider"
            name="provider"
            any="All providers"
            choices={PROVIDERS.map((value) => ({ value, label: PROVIDER_LABELS[value] }))}
          />
        </>
      }
    >
      <Loaded query={models}>
        {(rows) => (
          <Table
            label="Models"
            columns={PRICE_COLUMNS}
            rows={rows.filter(matches)}
            rowKey={(row) => `${row.provider} ${row.model_id}`}
            empty={<EmptyState title="No model matches" />}
          />
        )}
      </Loaded>
    </Card>
  );
}
