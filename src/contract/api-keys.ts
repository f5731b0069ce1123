import { Type } from 'typebox';
import { nullable, oneOf, operation, Timestamp, text, Uuid } from './operation.ts';

export const ENVIRONMENTS = ['production', 'test'] as const;

export const ApiKey = Type.Object({
  id: Uuid,
  name: Type.String(),
  key_prefix: Type.String(),
  environment: oneOf(ENVIRONMENTS),
  team_id: nullable(Uuid),
  service_name: nullable(Type.String()),
  last_used_at: nullable(Timestamp),
  revoked_at: nullable(Timestamp),
  created_at: Timestamp,
});

export const apiKeysOperations = {
  createApiKey: operation({
    method: 'POST',
    path: '/v1/api-keys',
    aliases: ['/v1/keys'],
    auth: 'tenant',
    tag: 'API keys',
    summary: 'Create a key for client applications; its value is shown this once',
    body: Type.Object({
      name: text({ 'x-missing': 'name_required', 'x-invalid': 'name_required' }),
      environment: Type.Optional(oneOf(ENVIRONMENTS, { default: 'production' })),
      team_id: Type.Optional(nullable(Uuid)),
      service_name: Type.Optional(nullable(text())),
    }),
    success: 201,
    response: Type.Object({
      id: Uuid,
      key: Type.String(),
      prefix: Type.String(),
      name: Type.String(),
      environment: oneOf(ENVIRONMENTS),
      team_id: nullable(Uuid),
      service_name: nullable(Type.String()),
      created_at: Timestamp,
    }),
    refusals: ['name_required', 'not_found'],
  }),
  listApiKeys: operation({
    method: 'GET',
    path: '/v1/api-keys',
    aliases: ['/v1/keys'],
    auth: 'tenant',
    tag: 'API keys',
    summary: 'All keys, revoked ones included, never their values',
    success: 200,
    response: Type.Array(ApiKey),
  }),
  revokeApiKey: operation({
    method: 'DELETE',
    path: '/v1/api-keys/{id}',
    aliases: ['/v1/keys/{id}'],
    auth: 'tenant',
    tag: 'API keys',
    summary: 'Revoke a key; the proxy refuses it at once',
    success: 204,
    response: null,
  }),
};
