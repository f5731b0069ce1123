import { type Refusal, refuse } from '../../contract/errors.ts';
import { KILL_EVERYTHING, type KILL_SCOPES } from '../../contract/kill-switches.ts';
import { API_KEY_PREFIX_LENGTH } from './api-keys.ts';
import { readScopeName } from './scope.ts';

export type KillScopeType = (typeof KILL_SCOPES)[number];

/** A kill switch as proxies hold it. */
export interface ActiveKillSwitch {
  id: string;
  scopeType: KillScopeType;
  scopeValue: string;
  /** The team that the value named when the switch was thrown. */
  teamId: string | null;
  activatedAtMs: number;
}

/** What of a request a kill switch can name. */
export interface KillFacts {
  teamId: string | null;
  teamSlug: string | null;
  teamName: string | null;
  service: string | null;
  agent: string | null;
  apiKeyId: string;
  apiKeyPrefix: string;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The scope a new switch asks for. */
export function readKillScope(
  scopeType: KillScopeType,
  given: string | null | undefined,
): { scopeType: KillScopeType; scopeValue: string } | Refusal {
  const value = readScopeName(given);
  if (scopeType === 'all') {
    if (value === null || value === KILL_EVERYTHING) return { scopeType, scopeValue: KILL_EVERYTHING };
    return refuse('invalid_field', `The field "scope_value" is not valid: for all it is ${KILL_EVERYTHING}.`);
  }
  if (value === null) return refuse('scope_value_required');
  return { scopeType, scopeValue: scopeType === 'api_key' ? withoutSecret(value) : value };
}

/** Somebody in a hurry pastes the whole key: no more of it than its prefix may be kept. */
function withoutSecret(value: string): string {
  return UUID.test(value) ? value.toLowerCase() : value.slice(0, API_KEY_PREFIX_LENGTH);
}

/** The switch that stops this request, if one does. */
export function findKill(switches: readonly ActiveKillSwitch[], facts: KillFacts): ActiveKillSwitch | null {
  return switches.find((kill) => matches(kill, facts)) ?? null;
}

function matches(kill: ActiveKillSwitch, facts: KillFacts): boolean {
  const { scopeValue } = kill;
  switch (kill.scopeType) {
    case 'all':
      return true;
    case 'team':
      if (facts.teamId === null) return false;
      return (
        kill.teamId === facts.teamId ||
        scopeValue === facts.teamId ||
        scopeValue === facts.teamSlug ||
        scopeValue === facts.teamName
      );
    case 'service':
      return scopeValue === facts.service;
    case 'agent':
      return scopeValue === facts.agent;
    case 'api_key':
      return scopeValue === facts.apiKeyId || scopeValue === facts.apiKeyPrefix;
  }
}

/** The answer to a request that a switch stops. */
export function refuseKilled(kill: ActiveKillSwitch): Refusal {
  return refuse('killed', undefined, {
    kill_id: kill.id,
    scope_type: kill.scopeType,
    scope_value: kill.scopeValue,
    activated_at: new Date(kill.activatedAtMs).toISOString(),
  });
}
