import { describe, expect, it } from 'vitest';
import { isRefusal } from '../../contract/errors.ts';
import {
  type ActiveKillSwitch,
  findKill,
  type KillFacts,
  type KillScopeType,
  readKillScope,
  refuseKilled,
} from './kill-switches.ts';

const KEY_ID = '0197f000-0000-7000-8000-00000000000a';
const TEAM_ID = '0197f000-0000-7000-8000-00000000000b';

const facts = (given: Partial<KillFacts> = {}): KillFacts => ({
  teamId: null,
  teamSlug: null,
  teamName: null,
  service: null,
  agent: null,
  apiKeyId: KEY_ID,
  apiKeyPrefix: 'gw_live_abcde',
  ...given,
});
const research = facts({ teamId: TEAM_ID, teamSlug: 'research', teamName: 'Research Lab' });
const kill = (scopeType: KillScopeType, scopeValue: string, teamId: string | null = null) => ({
  id: `${scopeType} ${scopeValue}`,
  scopeType,
  scopeValue,
  teamId,
  activatedAtMs: 0,
});

describe('a kill switch', () => {
  it.each<[KillScopeType, string, KillFacts, boolean]>([
    ['all', '*', facts(), true],
    ['team', TEAM_ID, research, true],
    ['team', 'research', research, true],
    ['team', 'Research Lab', research, true],
    ['team', 'other', research, false],
    ['team', 'research', facts({ service: 'research', agent: 'research' }), false],
    ['service', 'chat', facts({ service: 'chat' }), true],
    ['service', 'chat', facts({ agent: 'chat' }), false],
    ['service', '*', facts({ service: 'chat' }), false],
    ['agent', 'bot', facts({ agent: 'bot' }), true],
    ['agent', 'bot', facts(), false],
    ['api_key', KEY_ID, facts(), true],
    ['api_key', 'gw_live_abcde', facts(), true],
    ['api_key', 'gw_live_abcd', facts(), false],
  ])('of %s %s stops %j: %s', (scopeType, scopeValue, request, stops) => {
    expect(findKill([kill(scopeType, scopeValue)], request) !== null).toBe(stops);
  });

  it('stops a team under whatever name it has taken since', () => {
    const renamed = facts({ teamId: TEAM_ID, teamSlug: 'new', teamName: 'New' });
    expect(findKill([kill('team', 'research', TEAM_ID)], renamed)).not.toBeNull();
    expect(findKill([kill('team', 'research', null)], renamed)).toBeNull();
  });

  it('that matches is found among those that do not', () => {
    const switches: ActiveKillSwitch[] = [kill('agent', 'x'), kill('service', 'chat'), kill('all', '*')];
    expect(findKill(switches, facts({ service: 'chat' }))).toBe(switches[1]);
    expect(findKill([], facts())).toBeNull();
  });

  it('is named in the refusal', () => {
    expect(refuseKilled(kill('service', 'chat'))).toMatchObject({
      status: 451,
      body: {
        error: 'killed',
        kill_id: 'service chat',
        scope_type: 'service',
        scope_value: 'chat',
        activated_at: '1970-01-01T00:00:00.000Z',
      },
    });
  });
});

describe('the scope of a new kill switch', () => {
  it.each<[KillScopeType, string | null | undefined, string]>([
    ['all', undefined, '*'],
    ['all', '*', '*'],
    ['service', ' chat ', 'chat'],
    ['api_key', 'gw_live_abcde', 'gw_live_abcde'],
    ['api_key', KEY_ID.toUpperCase(), KEY_ID],
  ])('%s %j is read as %s', (scopeType, given, value) => {
    expect(readKillScope(scopeType, given)).toEqual({ scopeType, scopeValue: value });
  });

  it('never keeps more of a key than its prefix', () => {
    const read = readKillScope('api_key', 'gw_live_abcdefghijklmnopqrstuvwxyz0123456789ABCDEF');
    expect(read).toEqual({ scopeType: 'api_key', scopeValue: 'gw_live_abcde' });
  });

  it.each<[KillScopeType, string | null | undefined, string]>([
    ['all', 'chat', 'invalid_field'],
    ['team', undefined, 'scope_value_required'],
    ['service', null, 'scope_value_required'],
    ['agent', '  ', 'scope_value_required'],
    ['api_key', '', 'scope_value_required'],
  ])('%s %j is refused with %s', (scopeType, given, cause) => {
    const read = readKillScope(scopeType, given);
    expect(isRefusal(read) && read.cause).toBe(cause);
  });
});
