import { Type } from 'typebox';
import { nullable, oneOf, operation, Timestamp, Uuid } from './operation.ts';
import { PROVIDERS } from './providers.ts';

export const ProviderKey = Type.Object({
  id: Uuid,
  provider: oneOf(PROVIDERS),
  key_version: Type.Integer(),
  last_rotated_at: nullable(Timestamp),
  created_at: Timestamp,
});

export const providerKeysOperations = {
  storeProviderKey: operation({
    method: 'POST',
    path: '/v1/provider-keys',
    aliases: ['/v1/providers'],
    auth: 'tenant',
    tag: 'Provider keys',
    summary: 'Store the key of an upstream provider; storing another one for the same provider rotates it',
    body: Type.Object({
      provider: oneOf(PROVIDERS, { 'x-missing': 'provider_required' }),
      key: Type.String({
        minLength: 1,
        maxLength: 4096,
        pattern: '^[\\x21-\\x7e]+$',
        description: 'printable ASCII without spaces',
        'x-missing': 'key_required',
      }),
    }),
    success: 201,
    response: Type.Object({ id: Uuid, provider: oneOf(PROVIDERS), key_version: Type.Integer() }),
    refusals: ['provider_required', 'key_required'],
  }),
  listProviderKeys: operation({
    method: 'GET',
    path: '/v1/provider-keys',
    aliases: ['/v1/providers'],
    auth: 'tenant',
    tag: 'Provider keys',
    summary: 'Which providers have a key; never the key itself',
    success: 200,
    response: Type.Array(ProviderKey),
  }),
  revokeProviderKey: operation({
    method: 'DELETE',
    path: '/v1/provider-keys/{id}',
    aliases: ['/v1/providers/{id}'],
    auth: 'tenant',
    tag: 'Provider keys',
    summary: 'Remove a provider key',
    success: 204,
    response: null,
  }),
};
