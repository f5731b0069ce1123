import { PROVIDER_LABELS } from '../../contract/providers.ts';
import { type RowOf, useAction, useApi } from '../api.ts';
import { formatRate, nameOfRate } from '../numbers.ts';
import { Badge } from '../ui/Badge.tsx';
import { Button } from '../ui/Button.tsx';
import { Card } from '../ui/Card.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Money } from '../ui/Money.tsx';
import { Age, Time } from '../ui/Time.tsx';

type Change = RowOf<'listPriceChanges'>;

const REFRESHED = ['listPriceChanges', 'listDecidedPriceChanges', 'listAlerts'] as const;

/** Changes that concern this account, each with what it does to the bill. */
export function PriceChanges({ decided }: { decided: boolean }) {
  const open = useApi('listPriceChanges', undefined, { enabled: !decided });
  const history = useApi('listDecidedPriceChanges', undefined, { enabled: decided });
  if (decided) return <Loaded query={history}>{({ data }) => <ChangeList rows={data} />}</Loaded>;
  return <Loaded query={open}>{(rows) => <ChangeList rows={rows} />}</Loaded>;
}

function ChangeList({ rows }: { rows: readonly Change[] }) {
  if (rows.length === 0) {
    return (
      <Card>
        <EmptyState title="No price changes here">
          Changes of the last 30 days for models you used appear here, with what they do to your bill.
        </EmptyState>
      </Card>
    );
  }
  return (
    <ul className="grid gap-4 lg:grid-cols-2">
      {rows.map((change) => (
        <li key={change.id} className="min-w-0">
          <ChangeCard change={change} />
        </li>
      ))}
    </ul>
  );
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  return typeof value === 'number' ? formatRate(value) : JSON.stringify(value);
}

function ChangeCard({ change }: { change: Change }) {
  const acknowledge = useAction('acknowledgePriceChange', { refreshes: REFRESHED, done: 'Noted.' });
  const dismiss = useAction('dismissPriceChange', { refreshes: REFRESHED, done: 'Dismissed.' });
  const params = { id: change.id };
  const effect = change.estimate.monthly_effect_microdollars;
  return (
    <Card className="h-full">
      <div className="flex h-full flex-col gap-3 p-4">
        <div className="flex items-start justify-between gap-4">
          <div>
            <h2 className="font-semibold">{change.model_id}</h2>
            <p className="text-[13px] text-muted">
              {PROVIDER_LABELS[change.provider]} · in force <Time at={change.effective_at} shape="longDay" />{' '}
              (<Age at={change.effective_at} />)
            </p>
          </div>
          <p className={`text-right font-semibold tabular-nums ${effect > 0 ? 'text-bad' : 'text-good'}`}>
            {effect > 0 && '+'}
            <Money microdollars={effect} /> a month
          </p>
        </div>
        <ul className="text-[13px]">
          {change.differences.map(({ field, old, new: now }) => (
            <li key={field} className="flex justify-between gap-4 border-b border-line py-1 last:border-0">
              <span className="text-muted">{nameOfRate(field)}</span>
              <span className="tabular-nums">
                {shown(old)} → <strong>{shown(now)}</strong>
              </span>
            </li>
          ))}
        </ul>
        <details className="text-[13px] text-muted">
          <summary className="w-fit">
            Estimated from your last {change.estimate.window_days} days, assuming…
          </summary>
          <ul className="mt-1 list-disc pl-5">
            {change.estimate.assumptions.map((assumption) => (
              <li key={assumption}>{assumption}</li>
            ))}
          </ul>
        </details>
        <div className="mt-auto flex items-center justify-end gap-2">
          {change.status === 'active' ? (
            <>
              <Button small look="quiet" onClick={() => dismiss.mutate({ params })}>
                Dismiss
              </Button>
              <Button small onClick={() => acknowledge.mutate({ params })}>
                Acknowledge
              </Button>
            </>
          ) : (
            <Badge>
              {change.status}&nbsp;
              <Age at={change.decided_at} />
            </Badge>
          )}
        </div>
      </div>
    </Card>
  );
}
