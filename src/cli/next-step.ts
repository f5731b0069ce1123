import type { Refused } from '../client/client.ts';
import { showable } from './text.ts';

/** What an id of a group names, and the command that shows which there are. */
const NOUNS: Readonly<Record<string, { one: string; list: string }>> = {
  keys: { one: 'key', list: 'gw keys list' },
  providers: { one: 'provider key', list: 'gw providers list' },
  teams: { one: 'team', list: 'gw teams list' },
  budgets: { one: 'budget', list: 'gw budgets list' },
  approvals: { one: 'approval', list: 'gw approvals list' },
  quotas: { one: 'quota', list: 'gw quotas list' },
  kill: { one: 'kill switch', list: 'gw kill list' },
  requests: { one: 'request', list: 'gw requests' },
  reconcile: { one: 'run', list: 'gw reconcile list' },
  webhooks: { one: 'webhook', list: 'gw webhooks list' },
  alerts: { one: 'alert', list: 'gw alerts list' },
  savings: { one: 'finding', list: 'gw savings list' },
};

const LOGINS: readonly string[] = ['missing_auth', 'invalid_token', 'email_taken'];
const LISTED: readonly string[] = ['not_found', 'limit_exceeded', 'max_webhooks', 'conflict'];

/** The API's fields by the flags they were given with. */
const FLAGS: Readonly<Record<string, string>> = {
  scope_value: '--target',
  scope_id: '--team',
  team_id: '--team',
  amount_usd: '--amount',
  extra_usd: '--extra',
  duration_hours: '--hours',
  dimension_value: '--value',
  limit_microdollars: '--limit',
  alert_thresholds: '--thresholds',
  invoice_month: '--month',
  event_types: '--events',
  service_name: '--service',
  agent_name: '--agent',
  cost_center: '--cost-center',
};

/** The server's own sentence; only where it cannot know what was asked for, one that does. */
export function sentenceOf(refused: Refused, typed: string): string {
  const [, group = '', , id] = typed.split(' ');
  const noun = NOUNS[group];
  if (refused.error === 'not_found' && noun && id !== undefined)
    return `There is no ${noun.one} ${showable(id)}.`;
  return showable(refused.message).replace(
    /^The field "(\w+)"/,
    (said, field: string) => FLAGS[field] ?? said,
  );
}

/** What someone who was refused should do next: one line. */
export function nextStep(refused: Refused, typed: string): string {
  const [program = 'gw', group = '', command] = typed.split(' ');
  const help = `${[program, group, command].filter((word) => word !== undefined).join(' ')} --help`;
  if (LOGINS.includes(refused.error)) return 'gw login';
  if (LISTED.includes(refused.error)) return NOUNS[group]?.list ?? help;
  switch (refused.error) {
    case 'invalid_credentials':
      return 'gw login, with the address and password of the account';
    case 'rate_limited':
      return `the same again in ${refused.retryAfterSeconds ?? 60} seconds`;
    case 'internal_error':
      return `gw status; the request id is ${refused.requestId ?? 'unknown'}`;
    case 'unavailable':
      return 'gw status';
    default:
      return help;
  }
}
