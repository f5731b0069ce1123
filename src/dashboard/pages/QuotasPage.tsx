import { useState } from 'react';
import { type RowOf, useAction, useApi } from '../api.ts';
import { formatPercent } from '../numbers.ts';
import { Badge, type Tone } from '../ui/Badge.tsx';
import { Button } from '../ui/Button.tsx';
import { Card } from '../ui/Card.tsx';
import { ConfirmButton } from '../ui/Confirm.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Meter } from '../ui/Meter.tsx';
import { Money } from '../ui/Money.tsx';
import { Page } from '../ui/Page.tsx';
import { Age } from '../ui/Time.tsx';
import { useTeamNames } from './budget-words.ts';
import { QuotaChart } from './QuotaChart.tsx';
import { QuotaDialog } from './QuotaDialog.tsx';

export type Quota = RowOf<'listSpendQuotas'>;

const STATES: Record<string, { tone: Tone; text: string }> = {
  on_track: { tone: 'good', text: 'on track' },
  projected_exhaustion: { tone: 'warn', text: 'will pass its limit' },
  over_limit: { tone: 'bad', text: 'over its limit' },
  insufficient_data: { tone: 'neutral', text: 'too early to say' },
};

export function quotaName(
  quota: Pick<Quota, 'dimension_type' | 'dimension_value'>,
  teamNames: ReadonlyMap<string, string>,
): string {
  if (quota.dimension_type === 'tenant_total') return 'Whole account';
  const value =
    quota.dimension_type === 'team'
      ? (teamNames.get(quota.dimension_value) ?? quota.dimension_value)
      : quota.dimension_value;
  const kind = quota.dimension_type.replace('_', ' ');
  return `${kind[0]!.toUpperCase()}${kind.slice(1)} ${value}`;
}

export function QuotasPage() {
  const [editing, setEditing] = useState<Quota | 'new' | null>(null);
  const quotas = useApi('listSpendQuotas');
  return (
    <Page
      title="Quotas"
      note="A quota only tells: it never blocks a call. It says early where the period will end."
      actions={
        <Button look="primary" onClick={() => setEditing('new')}>
          Create quota
        </Button>
      }
    >
      <Loaded query={quotas}>
        {(rows) =>
          rows.length === 0 ? (
            <Card>
              <EmptyState
                title="No quotas yet"
                action={
                  <Button look="primary" onClick={() => setEditing('new')}>
                    Create the first quota
                  </Button>
                }
              >
                Watch the whole account, a model, a team, a service or an end customer, and hear about it at
                the percentages you choose.
              </EmptyState>
            </Card>
          ) : (
            <ul className="grid gap-4 xl:grid-cols-2">
              {rows.map((quota) => (
                <li key={quota.id} className="min-w-0">
                  <QuotaCard quota={quota} onEdit={() => setEditing(quota)} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      {editing !== null && (
        <QuotaDialog quota={editing === 'new' ? null : editing} onClose={() => setEditing(null)} />
      )}
    </Page>
  );
}

function QuotaCard({ quota, onEdit }: { quota: Quota; onEdit: () => void }) {
  const forecast = useApi('forecastSpendQuota', { params: { id: quota.id } }, { refetchInterval: 30_000 });
  const remove = useAction('deleteSpendQuota', {
    refreshes: ['listSpendQuotas'],
    done: 'The quota is deleted.',
  });
  const name = quotaName(quota, useTeamNames());
  const state = STATES[forecast.data?.forecast.state ?? 'insufficient_data']!;
  return (
    <Card
      title={name}
      note={`${quota.enabled ? '' : 'Switched off. '}Per ${quota.period}; tells at ${quota.alert_thresholds.join(', ')} %`}
      actions={
        <>
          {forecast.data && <Badge tone={state.tone}>{state.text}</Badge>}
          <Button small look="quiet" aria-label={`Change the quota of ${name}`} onClick={onEdit}>
            Change
          </Button>
          <ConfirmButton
            label="Delete"
            accessibleLabel={`Delete the quota of ${name}`}
            title="Delete this quota?"
            confirm="Delete quota"
            onConfirm={() => remove.mutateAsync({ params: { id: quota.id } })}
          >
            You are no longer told when {name} spends. Nothing was ever blocked by it.
          </ConfirmButton>
        </>
      }
    >
      <Loaded query={forecast}>
        {({ consumption, forecast: outlook }) => (
          <>
            <div className="flex flex-col gap-1.5 px-4 pt-3">
              <p className="flex flex-wrap justify-between gap-x-4">
                <span>
                  <strong className="tabular-nums">
                    <Money microdollars={consumption.spend_microdollars} />
                  </strong>{' '}
                  <span className="text-muted">
                    of <Money microdollars={quota.limit_microdollars} />,{' '}
                    {formatPercent(consumption.utilization, 0)}
                  </span>
                </span>
                <span className="text-muted">
                  {outlook.projected_exhaustion_at ? (
                    <>
                      reaches its limit <Age at={outlook.projected_exhaustion_at} />
                    </>
                  ) : outlook.projected_microdollars === null ? (
                    'no forecast yet'
                  ) : (
                    <>
                      ends at about <Money microdollars={outlook.projected_microdollars} />
                    </>
                  )}
                </span>
              </p>
              <Meter
                label={`${name}, quota used`}
                share={consumption.utilization}
                projected={
                  outlook.projected_microdollars === null
                    ? null
                    : outlook.projected_microdollars / quota.limit_microdollars
                }
              />
            </div>
            <QuotaChart quota={quota} name={name} consumption={consumption} forecast={outlook} />
          </>
        )}
      </Loaded>
    </Card>
  );
}
