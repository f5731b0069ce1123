/** Every cause of a refusal, one row each: the machine code, its HTTP status and the sentence people read. */
export const ERRORS = {
  invalid_body: { status: 400, message: 'The body must be one valid JSON object.' },
  invalid_field: { status: 400, message: 'A field has a value that is not allowed.' },
  invalid_email: {
    status: 400,
    message: 'The e-mail address is not valid: it needs one @ and a dot in its domain.',
  },
  password_too_short: { status: 400, message: 'The password must have at least 8 characters.' },
  email_taken: { status: 400, message: 'An account with this e-mail address exists already.' },
  name_required: { status: 400, message: 'A name is required.' },
  amount_required: { status: 400, message: 'An amount in US dollars above 0 is required.' },
  invalid_scope_type: { status: 400, message: 'The scope type is not one of those allowed here.' },
  scope_value_required: { status: 400, message: 'This scope needs a value: say which one is meant.' },
  provider_required: { status: 400, message: 'A provider is required: prov_a, prov_b, prov_c or prov_d.' },
  key_required: { status: 400, message: 'The provider key is required.' },
  limit_exceeded: { status: 400, message: 'This account has as many of these as it may have.' },
  current_password_required: { status: 400, message: 'Changing the password needs the current password.' },
  token_expired: { status: 400, message: 'This reset link has expired; ask for a new one.' },
  invalid_reset_token: {
    status: 400,
    code: 'invalid_token',
    message: 'This reset link is not valid or was used already.',
  },
  invalid_url: {
    status: 400,
    message: 'The address must begin with https:// and be on the public internet.',
  },
  invalid_event_type: {
    status: 400,
    message: 'At least one event type is required, and each must be one that there is.',
  },
  invalid_path: { status: 400, message: 'The path leaves the provider’s API.' },
  invalid_request: { status: 400, message: 'The request is not valid HTTP.' },
  bad_request: {
    status: 400,
    message: 'Send multipart/form-data with the fields file (CSV), provider and invoice_month (YYYY-MM).',
  },
  invalid_provider: { status: 400, message: 'The provider of an invoice must be prov_a, prov_b or prov_c.' },
  missing_auth: { status: 401, message: 'Send an Authorization header: Bearer followed by your token.' },
  invalid_token: { status: 401, message: 'The token or key is not valid, has expired or was revoked.' },
  invalid_credentials: { status: 401, message: 'E-mail address and password do not match an account.' },
  unauthorized: { status: 401, message: 'The operator token is not valid.' },
  not_found: { status: 404, message: 'There is nothing at this address.' },
  method_not_allowed: { status: 405, message: 'This address does not take that method.' },
  request_timeout: { status: 408, message: 'The request did not come in whole in time.' },
  conflict: { status: 409, message: 'It is so already.' },
  payload_too_large: { status: 413, message: 'The body is larger than this server accepts.' },
  max_webhooks: { status: 422, message: 'An account has at most 10 webhook endpoints.' },
  parse_error: { status: 422, message: 'The file cannot be read as an invoice.' },
  budget_exceeded: { status: 429, message: 'A budget would be passed by this request.' },
  rate_limited: { status: 429, message: 'Too many attempts from this address; wait a little.' },
  too_many_sendings: {
    status: 429,
    code: 'rate_limited',
    message: 'Too many test messages and replays of this account within a minute; wait a little.',
  },
  too_many_readers: {
    status: 429,
    message: 'This account has as many live tails open as it may have; close one first.',
  },
  headers_too_many: { status: 431, message: 'The request has more than 100 headers.' },
  killed: { status: 451, message: 'A kill switch stops requests of this kind.' },
  internal_error: {
    status: 500,
    message: 'Something broke on our side; the request id finds it in the log.',
  },
  upgrade_not_supported: { status: 501, message: 'Protocol upgrades are not supported.' },
  provider_key_missing: {
    status: 502,
    message: 'No key is stored for this provider; add one under provider keys.',
  },
  mail_failed: { status: 502, message: 'The mail server did not take the mail.' },
  upstream_unreachable: { status: 502, message: 'The provider could not be reached.' },
  unavailable: { status: 503, message: 'The gateway cannot take this call right now; try again shortly.' },
  upstream_timeout: { status: 504, message: 'The provider sent nothing in time.' },
} as const satisfies Record<string, { status: number; message: string; code?: string }>;

export type ErrorCause = keyof typeof ERRORS;

/** An answer we chose to give instead of the wished-for one. A value, never thrown. */
export interface Refusal {
  readonly kind: 'refusal';
  readonly cause: ErrorCause;
  readonly status: number;
  readonly body: { error: string; message: string } & Record<string, unknown>;
}

export function refuse(cause: ErrorCause, message?: string, extra: Record<string, unknown> = {}): Refusal {
  const row: { status: number; message: string; code?: string } = ERRORS[cause];
  return {
    kind: 'refusal',
    cause,
    status: row.status,
    body: { error: row.code ?? cause, message: message ?? row.message, ...extra },
  };
}

export function isRefusal(value: unknown): value is Refusal {
  return typeof value === 'object' && value !== null && (value as { kind?: unknown }).kind === 'refusal';
}
