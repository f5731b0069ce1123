import { SEVERITIES } from '../../contract/alerts.ts';
import { type RowOf, useAction, useApi } from '../api.ts';
import { SeverityBadge } from '../ui/Badge.tsx';
import { Button } from '../ui/Button.tsx';
import { Card } from '../ui/Card.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { FilterSelect } from '../ui/Filter.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Page } from '../ui/Page.tsx';
import { Pager } from '../ui/Pager.tsx';
import { Tabs } from '../ui/Tabs.tsx';
import { Age } from '../ui/Time.tsx';
import { usePaging, useUrlState } from '../url-state.ts';

type Alert = RowOf<'listAlerts'>;

const TYPES: Record<Alert['alert_type'], string> = {
  budget_threshold: 'Budget',
  cost_anomaly: 'Anomaly',
  model_change: 'Model',
  pricing_change: 'Price',
  webhook_disabled: 'Webhook',
};

export function AlertsPage() {
  const [{ tab, severity, type }] = useUrlState();
  const { limit, offset } = usePaging();
  const query = {
    ...(tab !== 'all' && { acknowledged: false }),
    ...(severity && { severity: severity as (typeof SEVERITIES)[number] }),
    ...(type && { alert_type: type as Alert['alert_type'] }),
    limit,
    offset,
  };
  const alerts = useApi(
    'listAlerts',
    { query },
    { refetchInterval: 5_000, placeholderData: (before) => before },
  );
  const test = useAction('testAlerts', {
    refreshes: [],
    done: ({ sent_to, failed }) =>
      [
        sent_to.length > 0 && `Sent to ${sent_to.join(' and ')}.`,
        ...failed.map(({ destination, reason }) => `${destination} failed: ${reason}`),
      ]
        .filter(Boolean)
        .join(' '),
  });
  return (
    <Page
      title="Alerts"
      note="Budgets, anomalies, price and model changes. Mail, chat and webhooks carry them too."
      actions={
        <>
          <FilterSelect label="Severity" name="severity" any="Any severity" choices={SEVERITIES} />
          <FilterSelect
            label="Type"
            name="type"
            any="Any type"
            choices={Object.entries(TYPES).map(([value, label]) => ({ value, label }))}
          />
          <Button busy={test.isPending} onClick={() => test.mutate({})}>
            Send a test
          </Button>
        </>
      }
    >
      <Card>
        <Tabs
          label="Which alerts"
          current={tab === 'all' ? 'all' : 'open'}
          tabs={[
            { id: 'open', label: 'Open' },
            { id: 'all', label: 'All' },
          ]}
        />
        <Loaded query={alerts}>
          {(data) => (
            <>
              <AlertList rows={data.data} />
              <Pager {...data} />
            </>
          )}
        </Loaded>
      </Card>
    </Page>
  );
}

function AlertList({ rows }: { rows: readonly Alert[] }) {
  const acknowledge = useAction('acknowledgeAlert', { refreshes: ['listAlerts'], done: 'Acknowledged.' });
  if (rows.length === 0) {
    return (
      <EmptyState title="No alerts here">
        When a budget passes 50, 80 or 100 %, an hour costs far more than it should, or a price changes, it is
        told here.
      </EmptyState>
    );
  }
  return (
    <ul>
      {rows.map((alert) => (
        <li
          key={alert.id}
          className="flex flex-wrap items-center gap-x-4 gap-y-1 border-b border-line px-4 py-3 last:border-0"
        >
          <span className="w-20">
            <SeverityBadge severity={alert.severity} />
          </span>
          <div className="min-w-48 flex-1">
            <p className={alert.acknowledged ? 'text-muted' : 'font-medium'}>{alert.title}</p>
            <p className="text-[13px] text-muted">
              {TYPES[alert.alert_type]} · <Age at={alert.created_at} />
              {alert.acknowledged_at && (
                <>
                  {' '}
                  · acknowledged <Age at={alert.acknowledged_at} />
                </>
              )}
            </p>
          </div>
          {!alert.acknowledged && (
            <Button
              small
              aria-label={`Acknowledge: ${alert.title}`}
              onClick={() => acknowledge.mutate({ params: { id: alert.id } })}
            >
              Acknowledge
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}
