import { Type } from 'typebox';
import { nullable, oneOf, operation, Timestamp, Uuid } from './operation.ts';
import { scopeName } from './scope.ts';

export const KILL_SCOPES = ['team', 'service', 'agent', 'api_key', 'all'] as const;
/** The value of the scope `all`. */
export const KILL_EVERYTHING = '*';
export const MAX_ACTIVE_KILL_SWITCHES = 10;

const MAX_REASON_CHARACTERS = 500;

export const KillSwitch = Type.Object({
  id: Uuid,
  scope_type: oneOf(KILL_SCOPES),
  scope_value: Type.String(),
  team_id: nullable(
    Type.String({ format: 'uuid', description: 'the team meant: renamed, it stays stopped' }),
  ),
  reason: nullable(Type.String()),
  activated_by: Type.String(),
  activated_at: Timestamp,
  deactivated_at: nullable(Timestamp),
});

export const killSwitchesOperations = {
  activateKillSwitch: operation({
    method: 'POST',
    path: '/v1/kill',
    auth: 'tenant',
    tag: 'Kill switches',
    summary: 'Stop matching requests before they reach a provider, at once',
    body: Type.Object({
      scope_type: oneOf(KILL_SCOPES, {
        'x-missing': 'invalid_scope_type',
        'x-invalid': 'invalid_scope_type',
      }),
      scope_value: Type.Optional(
        scopeName(
          'a team’s id, slug or name; a service; an agent; a key’s id or 13-character prefix; * for all',
        ),
      ),
      reason: Type.Optional(
        nullable(Type.String({ maxLength: MAX_REASON_CHARACTERS, pattern: '^[^\\u0000]*$' })),
      ),
    }),
    success: 201,
    response: KillSwitch,
    refusals: ['invalid_scope_type', 'scope_value_required', 'limit_exceeded'],
  }),
  listKillSwitches: operation({
    method: 'GET',
    path: '/v1/kill',
    auth: 'tenant',
    tag: 'Kill switches',
    summary: 'Active switches, then those lifted; newest first',
    success: 200,
    response: Type.Array(KillSwitch),
  }),
  deactivateKillSwitch: operation({
    method: 'DELETE',
    path: '/v1/kill/{id}',
    auth: 'tenant',
    tag: 'Kill switches',
    summary: 'Let requests flow again; one that is lifted already stays as it is',
    success: 204,
    response: null,
  }),
};
