import sql from 'sql-template-tag';
import type { Provider } from '../../contract/providers.ts';
import type { Budget } from '../domain/budgets.ts';
import type { ActiveKillSwitch } from '../domain/kill-switches.ts';
import type { Db } from './database.ts';

/** Which tenant a key belongs to. A key never changes hands, so the answer holds for good. */
export async function findKeyOwner(db: Db, keyHash: Buffer): Promise<string | null> {
  const rows = await db.query<{ tenant_id: string }>(
    sql`select tenant_id from api_keys where key_hash = ${keyHash}`,
  );
  return rows[0]?.tenant_id ?? null;
}

export interface TenantState {
  tenant_id: string;
  status: string;
  data_key_wrapped: Buffer;
  keys: Array<{
    id: string;
    /** Hexadecimal. */
    key_hash: string;
    prefix: string;
    environment: 'production' | 'test';
    team_id: string | null;
    service_name: string | null;
  }>;
  teams: Array<{ id: string; slug: string; name: string }>;
  provider_keys: Array<{ id: string; provider: Provider; key_sealed: string }>;
  budgets: Budget[];
  kill_switches: ActiveKillSwitch[];
}

/** Everything the proxy has to know of a tenant, as one row: read at once, so it is of one moment. */
export async function findTenantState(db: Db, tenantId: string): Promise<TenantState | null> {
  const rows = await db.query<TenantState>(sql`
    select tenant_id, status, data_key_wrapped,
           (select coalesce(json_agg(json_build_object(
                     'id', id, 'key_hash', encode(key_hash, 'hex'), 'prefix', prefix, 'environment', environment,
                     'team_id', team_id, 'service_name', service_name)), '[]')
              from api_keys where tenant_id = ${tenantId} and revoked_at is null) as keys,
           (select coalesce(json_agg(json_build_object(
                     'id', id, 'slug', slug, 'name', name)
                     order by created_at, id), '[]')
              from teams where tenant_id = ${tenantId} and deleted_at is null) as teams,
           (select coalesce(json_agg(json_build_object(
                     'id', id, 'provider', provider, 'key_sealed', encode(key_sealed, 'base64'))), '[]')
              from provider_keys where tenant_id = ${tenantId} and revoked_at is null) as provider_keys,
           (select coalesce(json_agg(json_build_object(
                     'id', id, 'scopeType', scope_type, 'scopeId', scope_id, 'agentName', agent_name,
                     'amountMicrodollars', amount_microdollars, 'period', period, 'mode', mode)
                     order by id), '[]')
              from budgets where tenant_id = ${tenantId} and deleted_at is null) as budgets,
           (select coalesce(json_agg(json_build_object(
                     'id', id, 'scopeType', scope_type, 'scopeValue', scope_value, 'teamId', team_id,
                     'activatedAtMs', floor(extract(epoch from activated_at) * 1000))
                     order by id), '[]')
              from kill_switches where tenant_id = ${tenantId} and deactivated_at is null) as kill_switches
      from tenants
     where tenant_id = ${tenantId}`);
  return rows[0] ?? null;
}
