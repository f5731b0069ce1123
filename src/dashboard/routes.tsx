import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { currentAccount } from './session.ts';
import { ErrorState } from './ui/EmptyState.tsx';
import { NotFound } from './ui/NotFound.tsx';
import { Shell } from './ui/Shell.tsx';
import { SkeletonRows } from './ui/Skeleton.tsx';
import { Toasts } from './ui/Toast.tsx';
import type { UrlState } from './url-state.ts';

const root = createRootRoute({
  validateSearch: (search): UrlState => search as UrlState,
  component: () => (
    <>
      <Outlet />
      <Toasts />
    </>
  ),
  errorComponent: ({ error }) => <ErrorState error={error as Error} onRetry={() => location.reload()} />,
  notFoundComponent: NotFound,
});

/** Pages for those who are logged in; everyone else is led to the log-in, and back from there. */
const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  component: Shell,
  beforeLoad: async ({ location: { href } }) => {
    if (await currentAccount()) return;
    throw redirect({ to: '/login', search: (href === '/' ? {} : { next: href }) as never });
  },
});

const page = <const Path extends string>(
  path: Path,
  load: () => Promise<Record<string, unknown>>,
  name: string,
) =>
  createRoute({
    getParentRoute: () => inside,
    path,
    component: lazyRouteComponent(load as never, name as never),
  });
const open = <const Path extends string>(
  path: Path,
  load: () => Promise<Record<string, unknown>>,
  name: string,
) =>
  createRoute({
    getParentRoute: () => root,
    path,
    component: lazyRouteComponent(load as never, name as never),
  });

const tree = root.addChildren([
  open('/login', () => import('./pages/LogInPage.tsx'), 'LogInPage'),
  open('/signup', () => import('./pages/SignUpPage.tsx'), 'SignUpPage'),
  open('/forgot-password', () => import('./pages/ForgotPasswordPage.tsx'), 'ForgotPasswordPage'),
  open('/reset-password', () => import('./pages/ResetPasswordPage.tsx'), 'ResetPasswordPage'),
  open('/cost-index', () => import('./pages/CostIndexPage.tsx'), 'CostIndexPage'),
  open('/operator', () => import('./pages/OperatorPage.tsx'), 'OperatorPage'),
  inside.addChildren([
    page('/', () => import('./pages/OverviewPage.tsx'), 'OverviewPage'),
    page('/connect', () => import('./pages/ConnectPage.tsx'), 'ConnectPage'),
    page('/explore', () => import('./pages/ExplorePage.tsx'), 'ExplorePage'),
    page('/requests', () => import('./pages/RequestsPage.tsx'), 'RequestsPage'),
    page('/requests/$id', () => import('./pages/RequestPage.tsx'), 'RequestPage'),
    page('/live', () => import('./pages/LivePage.tsx'), 'LivePage'),
    page('/budgets', () => import('./pages/BudgetsPage.tsx'), 'BudgetsPage'),
    page('/quotas', () => import('./pages/QuotasPage.tsx'), 'QuotasPage'),
    page('/kill-switches', () => import('./pages/KillSwitchesPage.tsx'), 'KillSwitchesPage'),
    page('/alerts', () => import('./pages/AlertsPage.tsx'), 'AlertsPage'),
    page('/savings', () => import('./pages/SavingsPage.tsx'), 'SavingsPage'),
    page('/models', () => import('./pages/ModelsPage.tsx'), 'ModelsPage'),
    page('/keys', () => import('./pages/KeysPage.tsx'), 'KeysPage'),
    page('/teams', () => import('./pages/TeamsPage.tsx'), 'TeamsPage'),
    page('/webhooks', () => import('./pages/WebhooksPage.tsx'), 'WebhooksPage'),
    page('/webhooks/$id', () => import('./pages/WebhookPage.tsx'), 'WebhookPage'),
    page('/reconciliation', () => import('./pages/ReconciliationsPage.tsx'), 'ReconciliationsPage'),
    page('/reconciliation/$id', () => import('./pages/ReconciliationPage.tsx'), 'ReconciliationPage'),
    page('/ledger', () => import('./pages/LedgerPage.tsx'), 'LedgerPage'),
    page('/audit', () => import('./pages/AuditPage.tsx'), 'AuditPage'),
    page('/settings', () => import('./pages/SettingsPage.tsx'), 'SettingsPage'),
  ]),
]);

export const router = createRouter({
  routeTree: tree,
  defaultPreload: 'intent',
  scrollRestoration: true,
  defaultPendingComponent: SkeletonRows,
  // A page that breaks is told inside the frame; everything else can still be reached.
  defaultErrorComponent: ({ error, reset }) => <ErrorState error={error as Error} onRetry={reset} />,
  defaultNotFoundComponent: NotFound,
  // Plain texts both ways: an address is for people too, and `?status=429` should read like that.
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const entries = Object.entries(search as UrlState).filter((entry): entry is [string, string] =>
      Boolean(entry[1]),
    );
    const text = new URLSearchParams(entries).toString();
    return text === '' ? '' : `?${text}`;
  },
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
