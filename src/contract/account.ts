import { Type } from 'typebox';
import { MAX_PASSWORD_CHARACTERS, Password } from './auth.ts';
import { nullable, operation, Timestamp, text, Uuid } from './operation.ts';

export const Subscription = Type.Object({
  plan_tier: Type.String(),
  included_requests: Type.Integer(),
  used_requests: Type.Integer({ description: 'calls that reached a provider in the current period' }),
  status: Type.String(),
  current_period_start: Timestamp,
  current_period_end: nullable(Timestamp),
});

export const Account = Type.Object({
  tenant_id: Uuid,
  name: Type.String(),
  email: Type.String(),
  plan_tier: Type.String(),
  status: Type.String(),
  created_at: Timestamp,
  updated_at: Timestamp,
  digest_enabled: Type.Boolean(),
  data_share_enabled: Type.Boolean(),
  chat_webhook_url: nullable(Type.String({ description: 'first 40 characters followed by ...' })),
  subscription: Subscription,
});

export const accountOperations = {
  getAccount: operation({
    method: 'GET',
    path: '/v1/account',
    auth: 'tenant',
    tag: 'Account',
    summary: 'The calling tenant with its subscription',
    success: 200,
    response: Account,
  }),
  updateAccount: operation({
    method: 'PUT',
    path: '/v1/account',
    aliases: ['/v1/account/settings'],
    auth: 'tenant',
    tag: 'Account',
    summary: 'Change name, digest preference or password; a new password ends every earlier session',
    body: Type.Object({
      name: Type.Optional(text({ 'x-invalid': 'name_required' })),
      digest_enabled: Type.Optional(
        Type.Union([Type.Boolean(), Type.Null()], {
          description: 'true, false, or null to leave it as it is',
        }),
      ),
      current_password: Type.Optional(
        Type.String({ maxLength: MAX_PASSWORD_CHARACTERS, description: 'required with new_password' }),
      ),
      new_password: Type.Optional(Password),
    }),
    success: 200,
    response: Type.Object({
      ...Account.properties,
      token: Type.Optional(
        Type.String({
          description: 'with a new password: replaces the calling token, which ended with the rest',
        }),
      ),
      expires_at: Type.Optional(Timestamp),
    }),
    refusals: ['current_password_required', 'invalid_credentials', 'password_too_short'],
  }),
  deleteAccount: operation({
    method: 'DELETE',
    path: '/v1/account',
    auth: 'tenant',
    tag: 'Account',
    summary: 'Cancel the account: data kept, log-in no longer possible, keys refused',
    success: 200,
    response: Account,
  }),
  setChatWebhook: operation({
    method: 'PUT',
    path: '/v1/account/integrations/chatops',
    auth: 'tenant',
    tag: 'Account',
    summary: 'Send alerts to a chat webhook',
    body: Type.Object({
      webhook_url: Type.String({ maxLength: 2048, description: 'an address under the chat hook prefix' }),
    }),
    success: 200,
    response: Account,
  }),
  removeChatWebhook: operation({
    method: 'DELETE',
    path: '/v1/account/integrations/chatops',
    auth: 'tenant',
    tag: 'Account',
    summary: 'Stop sending alerts to the chat webhook',
    success: 204,
    response: null,
  }),
  setDataShare: operation({
    method: 'PUT',
    path: '/v1/account/settings/data-share',
    auth: 'tenant',
    tag: 'Account',
    summary: 'Join or leave the public cost index',
    body: Type.Object({ enabled: Type.Boolean() }),
    success: 200,
    response: Account,
  }),
};
