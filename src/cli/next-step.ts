import type { Refused } from '../client/client.ts';

/** The group's own list shows what there is when an id is wrong. */
const LISTS: Readonly<Record<string, string>> = {
  keys: 'gw keys list',
  providers: 'gw providers list',
  teams: 'gw teams list',
  budgets: 'gw budgets list',
  approvals: 'gw approvals list',
  quotas: 'gw quotas list',
  kill: 'gw kill list',
  requests: 'gw requests',
  reconcile: 'gw reconcile list',
  webhooks: 'gw webhooks list',
  alerts: 'gw alerts list',
  savings: 'gw savings list',
};

/** What someone who was refused should do next: one line. */
export function nextStep(refused: Refused, commandLine: string): string {
  const group = commandLine.split(' ')[1] ?? '';
  switch (refused.error) {
    case 'missing_auth':
    case 'invalid_token':
      return 'gw login';
    case 'invalid_credentials':
      return 'gw login (check the address and the password)';
    case 'email_taken':
      return 'gw login';
    case 'rate_limited':
      return `the same again in ${refused.retryAfterSeconds ?? 60} seconds`;
    case 'not_found':
      return LISTS[group] ?? 'gw status';
    case 'limit_exceeded':
    case 'max_webhooks':
    case 'conflict':
      return LISTS[group] ?? `${commandLine} --help`;
    case 'internal_error':
      return `gw status${refused.requestId ? `; the request id is ${refused.requestId}` : ''}`;
    case 'unavailable':
      return 'gw status';
    default:
      return `${commandLine} --help`;
  }
}
