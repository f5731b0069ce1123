import { randomBytes } from 'node:crypto';
import { PROVIDERS, type Provider } from '../contract/providers.ts';
import { type Askers, type Asking, askingAs, granted } from './asking.ts';
import { COMPANY, NEIGHBOURS, TEAMS, type Workload } from './company.ts';
import { BROKEN_HOOK, type LocalServices, WORKING_HOOK } from './local-services.ts';
import type { Caller } from './recording.ts';
import type { DemoKeys } from './state.ts';

const EMAIL = 'demo@northwind.example';

export interface Tenant {
  name: string;
  tenantId: string;
  email: string;
  password: string;
  token: string;
  asking: Asking;
  caller: Caller;
  keys: DemoKeys;
  workloads: readonly Workload[];
}

/** The tenant of the tour, with everything it has had for a month: teams, keys, and where it is told of alerts. */
export async function openCompany(askers: Askers, workloads: readonly Workload[]): Promise<Tenant> {
  const account = await signUp(askers, COMPANY, EMAIL);
  const { asking } = account;
  const teamIds = new Map<string, string>();
  for (const { name, slug, costCenter } of TEAMS) {
    const body = { name, slug, cost_center: costCenter };
    teamIds.set(slug, granted('a team', await asking.call('createTeam', { body })).id);
  }
  const makeKey = async (name: string, environment: 'production' | 'test', team?: string) => {
    const body = { name, environment, team_id: team === undefined ? null : teamIds.get(team)! };
    return granted('a key', await asking.call('createApiKey', { body }));
  };
  const production = await makeKey('production', 'production');
  const test = await makeKey('evals and trials', 'test');
  const support = await makeKey('support backend', 'production', 'customer-support');
  const search = await makeKey('storefront search', 'production', 'search');
  const leaked = await makeKey('old laptop', 'production');
  granted('revoking a key', await asking.call('revokeApiKey', { params: { id: leaked.id } }));
  const keyOfTeam = new Map([
    ['customer-support', support.id],
    ['search', search.id],
  ]);
  return {
    ...account,
    keys: { production: production.key, test: test.key },
    workloads,
    caller: {
      tenantId: account.tenantId,
      teamIdOf: (slug) => teamIds.get(slug) ?? null,
      keyIdOf: ({ workload }) =>
        workload.environment === 'test' ? test.id : (keyOfTeam.get(workload.team) ?? production.id),
    },
  };
}

/** Three others, so that a figure of the public index is nobody's own. */
export async function openNeighbours(askers: Askers): Promise<Tenant[]> {
  const open = async ({ name, slug, workloads }: (typeof NEIGHBOURS)[number]): Promise<Tenant> => {
    const account = await signUp(askers, name, `ops@${slug}.example`);
    const key = granted('a key', await account.asking.call('createApiKey', { body: { name: 'backend' } }));
    return {
      ...account,
      keys: { production: key.key, test: '' },
      workloads,
      caller: { tenantId: account.tenantId, teamIdOf: () => null, keyIdOf: () => key.id },
    };
  };
  return Promise.all(NEIGHBOURS.map(open));
}

async function signUp(askers: Askers, name: string, email: string) {
  const password = `demo-${randomBytes(6).toString('hex')}`;
  const body = { name, email, password };
  const { token, tenant_id: tenantId } = granted('a sign-up', await askers.anyone.call('signup', { body }));
  const asking = askingAs(askers, token);
  const store = async (provider: Provider) => {
    const stored = { provider, key: `simulated-${provider}-${randomBytes(8).toString('hex')}` };
    granted('a provider key', await asking.call('storeProviderKey', { body: stored }));
  };
  await Promise.all(PROVIDERS.map(store));
  return { name, tenantId, email, password, token, asking };
}

/** Where the tenant is told of alerts: an endpoint that works, one that has been broken for a while, and a chat. */
export async function openReceivers(asking: Asking, local: LocalServices): Promise<void> {
  const endpoints = [
    { url: local.url + WORKING_HOOK, event_types: ['alert.all' as const] },
    {
      url: local.url + BROKEN_HOOK,
      event_types: ['alert.kill_switch' as const, 'alert.cost_anomaly' as const],
    },
  ];
  for (const body of endpoints) granted('a webhook', await asking.call('createWebhook', { body }));
  await setChat(asking, local);
}

/** After a restart the local services may listen elsewhere; the tenant's addresses follow them. */
export async function moveReceivers(asking: Asking, local: LocalServices): Promise<void> {
  const { webhooks } = granted('the webhooks', await asking.call('listWebhooks'));
  for (const { id, url } of webhooks) {
    const { pathname, hostname } = new URL(url);
    const isOurs = hostname === '127.0.0.1' && [WORKING_HOOK, BROKEN_HOOK].includes(pathname);
    if (!isOurs || url === local.url + pathname) continue;
    const change = { params: { id }, body: { url: local.url + pathname } };
    granted('moving a webhook', await asking.call('updateWebhook', change));
  }
  const { chat_webhook_url: shown } = granted('the account', await asking.call('getAccount'));
  // Of the address only the beginning is shown, and the port stands in it.
  const isThere = shown === null || shown.startsWith(`${local.url}/`);
  if (!isThere) await setChat(asking, local);
}

async function setChat(asking: Asking, local: LocalServices): Promise<void> {
  const body = { webhook_url: local.chatHook };
  granted('the chat', await asking.call('setChatWebhook', { body }));
}
