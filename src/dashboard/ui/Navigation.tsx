import { Link, type LinkProps } from '@tanstack/react-router';
import { useApi } from '../api.ts';
import { keepRange, type UrlState } from '../url-state.ts';
import { Icon, type IconName } from './Icon.tsx';

interface Place {
  to: LinkProps['to'];
  label: string;
  icon: IconName;
  badge?: 'alerts' | 'approvals';
}

const GROUPS: ReadonlyArray<{ label: string; places: readonly Place[] }> = [
  {
    label: 'Look',
    places: [
      { to: '/', label: 'Overview', icon: 'overview' },
      { to: '/explore', label: 'Explore', icon: 'explore' },
      { to: '/requests', label: 'Requests', icon: 'requests' },
      { to: '/live', label: 'Live tail', icon: 'live' },
    ],
  },
  {
    label: 'Control',
    places: [
      { to: '/budgets', label: 'Budgets', icon: 'budget', badge: 'approvals' },
      { to: '/quotas', label: 'Quotas', icon: 'quota' },
      { to: '/kill-switches', label: 'Kill switches', icon: 'kill' },
      { to: '/alerts', label: 'Alerts', icon: 'alert', badge: 'alerts' },
    ],
  },
  {
    label: 'Spend less',
    places: [
      { to: '/savings', label: 'Savings', icon: 'savings' },
      { to: '/models', label: 'Models & prices', icon: 'models' },
      { to: '/reconciliation', label: 'Reconciliation', icon: 'reconcile' },
    ],
  },
  {
    label: 'Prove',
    places: [
      { to: '/ledger', label: 'Ledger', icon: 'ledger' },
      { to: '/audit', label: 'Audit', icon: 'audit' },
    ],
  },
  {
    label: 'Set up',
    places: [
      { to: '/connect', label: 'Connect', icon: 'connect' },
      { to: '/keys', label: 'Keys', icon: 'key' },
      { to: '/teams', label: 'Teams', icon: 'team' },
      { to: '/webhooks', label: 'Webhooks', icon: 'webhook' },
      { to: '/settings', label: 'Settings', icon: 'settings' },
    ],
  },
];

const LOOK_EVERY_MS = 20_000;

/** What waits for somebody, counted beside the page where it is decided. */
function useWaiting(): Record<'alerts' | 'approvals', number> {
  const extras = { refetchInterval: LOOK_EVERY_MS };
  const alerts = useApi('listAlerts', { query: { acknowledged: false, limit: 1 } }, extras);
  const approvals = useApi('listBudgetApprovals', { query: { status: 'pending', limit: 1 } }, extras);
  return { alerts: alerts.data?.total ?? 0, approvals: approvals.data?.total ?? 0 };
}

export function Navigation({ onGo }: { onGo?: () => void }) {
  const waiting = useWaiting();
  return (
    <nav aria-label="Pages of the dashboard" className="flex flex-col gap-4">
      {GROUPS.map((group) => (
        <div key={group.label}>
          <p className="px-2.5 pb-1 text-[12px] font-medium text-faint">{group.label}</p>
          <ul>
            {group.places.map((place) => (
              <li key={place.label}>
                <Link
                  to={place.to}
                  search={((before: UrlState) => keepRange(before)) as never}
                  activeOptions={{ exact: place.to === '/', includeSearch: false }}
                  {...(onGo && { onClick: onGo })}
                  className="flex h-8 items-center gap-2.5 rounded-[7px] px-2.5 text-muted hover:bg-sunken hover:text-ink aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-accent"
                >
                  <Icon name={place.icon} />
                  <span className="flex-1">{place.label}</span>
                  {place.badge && waiting[place.badge] > 0 && (
                    <span className="rounded-full bg-bad-strong px-1.5 text-[12px] leading-5 font-medium text-white tabular-nums">
                      {waiting[place.badge] > 99 ? '99+' : waiting[place.badge]}
                      <span className="sr-only"> waiting</span>
                    </span>
                  )}
                </Link>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}
