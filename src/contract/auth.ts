import { Type } from 'typebox';
import { Message, operation, Timestamp, text, Uuid } from './operation.ts';

export const MIN_PASSWORD_CHARACTERS = 8;
/** Argon2 reads the whole password: an upper bound keeps one request from costing seconds. */
export const MAX_PASSWORD_CHARACTERS = 1024;

export const Password = Type.String({
  minLength: MIN_PASSWORD_CHARACTERS,
  maxLength: MAX_PASSWORD_CHARACTERS,
  'x-missing': 'password_too_short',
  'x-invalid': 'password_too_short',
});

export const Email = Type.String({
  maxLength: 254,
  pattern: '^[^\\s@\\u0000-\\u001f]+@[^\\s@.\\u0000-\\u001f]+(\\.[^\\s@.\\u0000-\\u001f]+)+$',
  'x-missing': 'invalid_email',
  'x-invalid': 'invalid_email',
});

export const authOperations = {
  signup: operation({
    method: 'POST',
    path: '/v1/auth/signup',
    auth: 'none',
    tag: 'Auth',
    summary: 'Open an account on the free plan and log in',
    body: Type.Object({
      name: text({ 'x-missing': 'name_required', 'x-invalid': 'name_required' }),
      email: Email,
      password: Password,
    }),
    success: 201,
    response: Type.Object({
      tenant_id: Uuid,
      email: Type.String(),
      plan_tier: Type.String(),
      token: Type.String(),
    }),
    refusals: ['invalid_email', 'password_too_short', 'email_taken', 'name_required', 'rate_limited'],
  }),
  login: operation({
    method: 'POST',
    path: '/v1/auth/login',
    auth: 'none',
    tag: 'Auth',
    summary: 'Log in',
    body: Type.Object({
      email: Type.String({ maxLength: 1024 }),
      password: Type.String({ maxLength: MAX_PASSWORD_CHARACTERS }),
    }),
    success: 200,
    response: Type.Object({
      tenant_id: Uuid,
      email: Type.String(),
      plan_tier: Type.String(),
      token: Type.String(),
      expires_at: Timestamp,
    }),
    refusals: ['invalid_credentials', 'rate_limited'],
  }),
  refreshToken: operation({
    method: 'POST',
    path: '/v1/auth/refresh',
    auth: 'tenant',
    tag: 'Auth',
    summary: 'Exchange a token that has not expired for a new one',
    success: 200,
    response: Type.Object({ token: Type.String(), expires_at: Timestamp }),
  }),
  logout: operation({
    method: 'POST',
    path: '/v1/auth/logout',
    auth: 'tenant',
    tag: 'Auth',
    summary: 'Revoke the calling token',
    success: 200,
    response: Message,
  }),
  forgotPassword: operation({
    method: 'POST',
    path: '/v1/auth/forgot-password',
    auth: 'none',
    tag: 'Auth',
    summary: 'Have a reset link mailed; the answer is the same whether the account exists or not',
    body: Type.Object({ email: Type.String({ maxLength: 1024 }) }),
    success: 200,
    response: Message,
    refusals: ['rate_limited'],
  }),
  resetPassword: operation({
    method: 'POST',
    path: '/v1/auth/reset-password',
    auth: 'none',
    tag: 'Auth',
    summary: 'Set a new password with a reset token; ends every earlier session',
    body: Type.Object({
      token: Type.String({
        pattern: '^[0-9a-fA-F]{64}$',
        'x-missing': 'invalid_reset_token',
        'x-invalid': 'invalid_reset_token',
      }),
      password: Password,
    }),
    success: 200,
    response: Message,
    refusals: ['invalid_reset_token', 'token_expired', 'password_too_short'],
  }),
};
