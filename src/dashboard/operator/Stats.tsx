import { PROVIDER_LABELS, type Provider } from '../../contract/providers.ts';
import type { Output } from '../api.ts';
import { formatCompact, formatCount } from '../numbers.ts';
import { SeverityBadge } from '../ui/Badge.tsx';
import { Card, Stat } from '../ui/Card.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Money } from '../ui/Money.tsx';
import { Table } from '../ui/Table.tsx';
import { useOperator } from './client.tsx';

type Figures = Output<'getPlatformStats'>['today'];

function Spend({ label, figures }: { label: string; figures: Figures }) {
  return (
    <Stat
      label={label}
      below={`${formatCompact(figures.requests)} requests, ${formatCount(figures.errors)} errors`}
    >
      <Money microdollars={figures.cost_microdollars} />
    </Stat>
  );
}

export function OperatorStats() {
  const stats = useOperator('getPlatformStats', undefined, { refetchInterval: 15_000 });
  return (
    <Loaded query={stats}>
      {(data) => (
        <>
          <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-xl border border-line bg-line shadow-card md:grid-cols-4">
            <Stat
              label="Tenants"
              below={`${formatCount(data.tenants.active)} active, ${formatCount(data.tenants.with_traffic_30_days)} with traffic`}
            >
              {formatCount(data.tenants.total)}
            </Stat>
            <Spend label="Today" figures={data.today} />
            <Spend label="Last 30 days" figures={data.last_30_days} />
            <Spend label="All time" figures={data.all_time} />
          </dl>
          <div className="grid gap-4 lg:grid-cols-[2fr_1fr]">
            <Card title="Models of the last 30 days">
              <Table
                label="Models of the last 30 days"
                rows={data.top_models}
                rowKey={(row) => `${row.provider} ${row.model_id}`}
                empty={<EmptyState title="No traffic yet" />}
                columns={[
                  { head: 'Model', cell: (row) => row.model_id },
                  {
                    head: 'Provider',
                    from: 'sm',
                    cell: (row) => (
                      <span className="text-muted">
                        {PROVIDER_LABELS[row.provider as Provider] ?? row.provider}
                      </span>
                    ),
                  },
                  { head: 'Tenants', numeric: true, cell: (row) => formatCount(row.tenants) },
                  { head: 'Requests', numeric: true, cell: (row) => formatCompact(row.requests) },
                  {
                    head: 'Spend',
                    numeric: true,
                    cell: (row) => <Money microdollars={row.cost_microdollars} />,
                  },
                ]}
              />
            </Card>
            <AlertStats />
          </div>
        </>
      )}
    </Loaded>
  );
}

function AlertStats() {
  const stats = useOperator('getAlertStats');
  return (
    <Card title="Alerts of the last 30 days">
      <Loaded query={stats}>
        {(data) => (
          <ul className="px-4 py-2">
            {Object.entries(data.by_severity).map(([severity, count]) => (
              <li key={severity} className="flex justify-between py-1.5">
                <SeverityBadge severity={severity} />
                <span className="tabular-nums">{formatCount(count)}</span>
              </li>
            ))}
            {Object.entries(data.by_type).map(([type, count]) => (
              <li key={type} className="flex justify-between border-t border-line py-1.5 text-muted">
                {type.replaceAll('_', ' ')}
                <span className="tabular-nums">{formatCount(count)}</span>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </Card>
  );
}
