import { isIP } from 'node:net';
import { resolve } from 'node:path';
import ipaddr from 'ipaddr.js';
import type { Provider } from '../contract/providers.ts';
import type { Secrets } from './adapters/secrets.ts';
import { type PriceSource, parsePriceSource } from './domain/price-sources.ts';

const MIN_SECRET_CHARS = 32;
const MAX_SECRET_CHARS = 4096;
const MASTER_KEY_BYTES = 32;
const MAX_LIST_ENTRIES = 256;
const MAX_RETRY_DELAY_SECONDS = 7 * 24 * 3600;
const MAX_RETRIES = 20;
const MIB = 1024 * 1024;

const ROLES = ['all', 'api', 'proxy', 'worker'] as const;
const CLIENT_ABORT_ACTIONS = ['abort', 'drain'] as const;
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

export type Config = {
  host: string;
  port: number;
  proxyPort: number;
  /** null: the address the API really listens on, see `dashboardUrl`. */
  publicUrl: string | null;
  dataDir: string;
  /** null: the embedded PostgreSQL. */
  databaseUrl: string | null;
  /** With `databaseUrl` all four are here; without it the rest comes from the data directory. */
  secretsGiven: Partial<Secrets>;
  upstreamUrls: Record<Provider, string>;
  mail: { smtpUrl: string | null; from: string };
  chatHookPrefix: string;
  ratePerMinute: { signup: number; login: number; forgot: number; testing: number };
  trustedProxies: readonly string[];
  maxBodyBytes: number;
  upstreamTimeoutMs: number;
  webhookAllowPrivate: boolean;
  webhookRetryDelaysSeconds: readonly number[];
  role: (typeof ROLES)[number];
  workers: number;
  drainMs: number;
  corsOrigins: readonly string[];
  onClientAbort: (typeof CLIENT_ABORT_ACTIONS)[number];
  retentionDays: number;
  journalMaxBytes: number;
  priceSources: readonly PriceSource[];
  logLevel: (typeof LOG_LEVELS)[number];
};

export type ConfigProblem = { variable: string; message: string };
export type ConfigReading =
  | { kind: 'config'; config: Config }
  | { kind: 'refused'; problems: ConfigProblem[] };

/** A parser answers null for a text it does not allow; it never quotes the text, which may be a secret. */
type Parser<T> = { allowed: string; parse: (text: string) => T | null };
type Variable<T> = { name: string; default: string | null; meaning: string; allowed: string } & {
  parse: (text: string) => T | null;
  fallback: T;
};

function required<T>(name: string, fallbackText: string, parser: Parser<T>, meaning: string): Variable<T> {
  const fallback = parser.parse(fallbackText);
  if (fallback === null) throw new Error(`the default of ${name} is not allowed by its own parser`);
  return { name, default: fallbackText, meaning, ...parser, fallback };
}

function optional<T>(name: string, parser: Parser<T>, meaning: string): Variable<T | null> {
  return { name, default: null, meaning, ...parser, fallback: null };
}

const wholeNumber = (min: number, max: number): Parser<number> => ({
  allowed: `a whole number from ${min} to ${max}`,
  parse: (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : -1;
    return value >= min && value <= max ? value : null;
  },
});

const oneOf = <T extends string>(values: readonly T[]): Parser<T> => ({
  allowed: `one of ${values.join(', ')}`,
  parse: (text) => values.find((value) => value === text) ?? null,
});

const listOf = <T>(entry: Parser<T>, maxEntries = MAX_LIST_ENTRIES): Parser<readonly T[]> => ({
  allowed: `${entry.allowed}, or several separated by commas (at most ${maxEntries})`,
  parse: (text) => {
    const parts = text.split(',', maxEntries + 1);
    const values = parts.flatMap((part) => entry.parse(part.trim()) ?? []);
    return values.length === parts.length && parts.length <= maxEntries ? values : null;
  },
});

const flag: Parser<boolean> = {
  allowed: '0 or 1',
  parse: (text) => (text === '1' ? true : text === '0' ? false : null),
};

const host: Parser<string> = {
  allowed: 'an IP address or a host name, without a port',
  parse: (text) => {
    const looksNumeric = /^[\d.]+$/.test(text);
    const isName = !looksNumeric && text.length <= 253 && /^[a-z\d](?:[a-z\d._-]*[a-z\d])?$/i.test(text);
    return isIP(text) !== 0 || isName ? text : null;
  },
};

const directory: Parser<string> = {
  allowed: 'a path',
  parse: (text) => (text.includes('\0') ? null : resolve(text)),
};

function parseUrl(text: string, protocols: readonly string[]): URL | null {
  if (/\s/.test(text) || !URL.canParse(text)) return null;
  const url = new URL(text);
  return protocols.includes(url.protocol) ? url : null;
}

const webAddress: Parser<string> = {
  allowed: 'an http:// or https:// address without user name, query or fragment',
  parse: (text) => {
    const url = parseUrl(text, ['http:', 'https:']);
    if (!url || url.username || url.password || /[?#]/.test(text)) return null;
    return url.href;
  },
};

/** Paths are appended to a base address, so a slash at its end would be doubled. */
const baseAddress: Parser<string> = {
  allowed: webAddress.allowed,
  parse: (text) => webAddress.parse(text)?.replace(/\/+$/, '') ?? null,
};

const origin: Parser<string> = {
  allowed: 'an origin such as https://app.example.com',
  parse: (text) => {
    const url = parseUrl(text, ['http:', 'https:']);
    return url && url.origin === text.toLowerCase() ? url.origin : null;
  },
};

const databaseAddress: Parser<string> = {
  allowed: 'a postgres:// or postgresql:// address',
  parse: (text) => (parseUrl(text, ['postgres:', 'postgresql:']) ? text : null),
};

const smtpAddress: Parser<string> = {
  allowed: 'an smtp:// or smtps:// address with a host',
  parse: (text) => (parseUrl(text, ['smtp:', 'smtps:'])?.hostname ? text : null),
};

const mailbox: Parser<string> = {
  allowed: 'a mail address, name@host or Name <name@host>',
  parse: (text) => {
    const isMailbox = /^(?:[^<>\r\n]{0,128}<[^\s<>@]{1,64}@[^\s<>@]{1,253}>|[^\s<>@]{1,64}@[^\s<>@]{1,253})$/;
    return isMailbox.test(text) ? text : null;
  },
};

const network: Parser<string> = {
  allowed: 'an IP address or network such as 10.0.0.0/8',
  parse: (text) => {
    if (ipaddr.isValidCIDR(text)) return text;
    // isValid alone would also take the old short forms, such as "10" for 0.0.0.10.
    if (isIP(text) === 0) return null;
    return `${text}/${isIP(text) === 4 ? 32 : 128}`;
  },
};

const masterKey: Parser<Buffer> = {
  allowed: `${MASTER_KEY_BYTES} bytes in base64 (44 characters; openssl rand -base64 32)`,
  parse: (text) => {
    const bytes = Buffer.from(text, 'base64');
    return bytes.length === MASTER_KEY_BYTES && bytes.toString('base64') === text ? bytes : null;
  },
};

const secret: Parser<string> = {
  allowed: `at least ${MIN_SECRET_CHARS} characters (openssl rand -hex 32)`,
  parse: (text) => (text.trim().length >= MIN_SECRET_CHARS && text.length <= MAX_SECRET_CHARS ? text : null),
};

/** The operator token travels in a header, where only visible ASCII survives. */
const headerSecret: Parser<string> = {
  allowed: `at least ${MIN_SECRET_CHARS} visible ASCII characters (openssl rand -hex 32)`,
  parse: (text) => (/^[\x21-\x7e]+$/.test(text) ? secret.parse(text) : null),
};

const priceSource: Parser<PriceSource> = {
  allowed: 'models_dev=, litellm= or html:prov_a= (to prov_d) and an https:// or loopback http:// address',
  parse: parsePriceSource,
};

const retryDelay = wholeNumber(0, MAX_RETRY_DELAY_SECONDS);
const PER_MINUTE = wholeNumber(0, 1_000_000);
const DEFAULT_RETRY_DELAYS = '0,5,300,1800,7200,18000,36000,36000';

// biome-ignore format: one variable, one row, so that the whole configuration can be read as a table
const VARIABLES = {
  host: required('GATEWAY_HOST', '127.0.0.1', host, 'address both listeners bind to'),
  port: required('GATEWAY_PORT', '8080', wholeNumber(0, 65535), 'port of the management API, dashboard and docs; 0 takes any free port'),
  proxyPort: required('GATEWAY_PROXY_PORT', '8081', wholeNumber(0, 65535), 'port of the proxy; 0 takes any free port'),
  publicUrl: optional('GATEWAY_PUBLIC_URL', baseAddress, 'address of the dashboard as users reach it, put into mails; unset: http://host:port'),
  dataDir: required('GATEWAY_DATA_DIR', './data', directory, 'where the journal, generated secrets, mails and the embedded database lie'),
  databaseUrl: optional('DATABASE_URL', databaseAddress, 'PostgreSQL 14 or newer to use instead of the embedded one; all four secrets must then be set'),
  masterKey: optional('GATEWAY_MASTER_KEY', masterKey, 'wraps the data keys that encrypt provider keys; unset: generated'),
  jwtSecret: optional('GATEWAY_JWT_SECRET', secret, 'signs login tokens; unset: generated'),
  ledgerSecret: optional('GATEWAY_LEDGER_SECRET', secret, 'signs every ledger record (HMAC); unset: generated'),
  operatorToken: optional('GATEWAY_OPERATOR_TOKEN', headerSecret, 'opens the operator endpoints; unset: generated'),
  upstreamA: required('GATEWAY_PROV_A_URL', 'https://api.openai.com', baseAddress, 'base address of prov_a'),
  upstreamB: required('GATEWAY_PROV_B_URL', 'https://api.anthropic.com', baseAddress, 'base address of prov_b'),
  upstreamC: required('GATEWAY_PROV_C_URL', 'https://generativelanguage.googleapis.com', baseAddress, 'base address of prov_c'),
  upstreamD: required('GATEWAY_PROV_D_URL', 'https://api.deepseek.com', baseAddress, 'base address of prov_d'),
  smtpUrl: optional('SMTP_URL', smtpAddress, 'mail server; unset: mails are written as .eml files under the data directory'),
  mailFrom: required('GATEWAY_MAIL_FROM', 'Gateway <gateway@localhost>', mailbox, 'sender of every mail'),
  chatHookPrefix: required('GATEWAY_CHAT_HOOK_PREFIX', 'https://hooks.slack.com/services/', webAddress, 'origin and path every chat hook must lie under'),
  rateSignup: required('GATEWAY_RATE_SIGNUP', '20', PER_MINUTE, 'sign-ups per minute and client address; 0 turns the limit off'),
  rateLogin: required('GATEWAY_RATE_LOGIN', '20', PER_MINUTE, 'logins per minute and client address; 0 turns the limit off'),
  rateForgot: required('GATEWAY_RATE_FORGOT', '10', PER_MINUTE, 'password mails per minute and client address; 0 turns the limit off'),
  rateTest: required('GATEWAY_RATE_TEST', '30', PER_MINUTE, 'test messages and webhook replays per minute and account; 0 turns the limit off'),
  trustedProxies: optional('GATEWAY_TRUSTED_PROXIES', listOf(network), 'networks whose X-Forwarded-For is believed; unset: nobody'),
  maxBodyBytes: required('GATEWAY_MAX_BODY_BYTES', String(32 * MIB), wholeNumber(1024, 1024 * MIB), 'largest request body the proxy takes'),
  upstreamTimeoutMs: required('GATEWAY_UPSTREAM_TIMEOUT_MS', '600000', wholeNumber(1, 86_400_000), 'how long an upstream may take to its first byte'),
  webhookAllowPrivate: required('GATEWAY_WEBHOOK_ALLOW_PRIVATE', '0', flag, '1 allows webhooks to private addresses and plain http, for development'),
  webhookRetryDelays: required('GATEWAY_WEBHOOK_RETRY_SCHEDULE', DEFAULT_RETRY_DELAYS, listOf(retryDelay, MAX_RETRIES), 'seconds before each delivery attempt'),
  role: required('GATEWAY_ROLE', 'all', oneOf(ROLES), 'which parts this node runs'),
  workers: required('GATEWAY_WORKERS', '1', wholeNumber(1, 64), 'proxy processes on this machine'),
  drainMs: required('GATEWAY_DRAIN_MS', '30000', wholeNumber(0, 3_600_000), 'how long requests in flight may take to end at shutdown'),
  corsOrigins: optional('GATEWAY_CORS_ORIGINS', listOf(origin), 'other origins whose pages may call the API; unset: none'),
  onClientAbort: required('GATEWAY_ON_CLIENT_ABORT', 'abort', oneOf(CLIENT_ABORT_ACTIONS), 'when a client hangs up: abort the upstream, or drain it for its final usage'),
  retentionDays: required('GATEWAY_RETENTION_DAYS', '0', wholeNumber(0, 36_500), 'days request records are kept; 0 keeps them'),
  journalMaxBytes: required('GATEWAY_JOURNAL_MAX_BYTES', String(1024 * MIB), wholeNumber(MIB, 1024 * 1024 * MIB), 'size of the local journal at which the proxy stops taking requests'),
  priceSources: optional('GATEWAY_PRICE_SOURCES', listOf(priceSource, 20), 'where prices are read every night, offered to the operator as candidates; unset: nowhere'),
  logLevel: required('GATEWAY_LOG_LEVEL', 'info', oneOf(LOG_LEVELS), 'least severe log line written'),
};

/** The configuration as data, for the documentation and its test. */
export const CONFIG_VARIABLES: readonly {
  name: string;
  default: string | null;
  meaning: string;
  allowed: string;
}[] = Object.values(VARIABLES).map(({ name, default: text, meaning, allowed }) => ({
  name,
  default: text,
  meaning,
  allowed,
}));

export function readConfig(env: NodeJS.ProcessEnv): ConfigReading {
  const problems = findUnknownVariables(env);
  const read = <T>(variable: Variable<T>): T => {
    const text = env[variable.name];
    if (text === undefined) return variable.fallback;
    const value = text === '' ? null : variable.parse(text);
    if (value !== null) return value;
    const fault = text === '' ? 'is empty; unset it, or give' : 'is not valid; allowed is';
    problems.push({ variable: variable.name, message: `${variable.name} ${fault} ${variable.allowed}` });
    return variable.fallback;
  };
  const config = readEveryVariable(read);
  problems.push(...findMissingSecrets(env), ...findPortClash(config));
  return problems.length === 0 ? { kind: 'config', config } : { kind: 'refused', problems };
}

function readEveryVariable(read: <T>(variable: Variable<T>) => T): Config {
  const given = {
    masterKey: read(VARIABLES.masterKey),
    jwtSecret: read(VARIABLES.jwtSecret),
    ledgerSecret: read(VARIABLES.ledgerSecret),
    operatorToken: read(VARIABLES.operatorToken),
  };
  return {
    host: read(VARIABLES.host),
    port: read(VARIABLES.port),
    proxyPort: read(VARIABLES.proxyPort),
    publicUrl: read(VARIABLES.publicUrl),
    dataDir: read(VARIABLES.dataDir),
    databaseUrl: read(VARIABLES.databaseUrl),
    secretsGiven: {
      ...(given.masterKey && { masterKey: given.masterKey }),
      ...(given.jwtSecret && { jwtSecret: given.jwtSecret }),
      ...(given.ledgerSecret && { ledgerSecret: given.ledgerSecret }),
      ...(given.operatorToken && { operatorToken: given.operatorToken }),
    },
    upstreamUrls: {
      prov_a: read(VARIABLES.upstreamA),
      prov_b: read(VARIABLES.upstreamB),
      prov_c: read(VARIABLES.upstreamC),
      prov_d: read(VARIABLES.upstreamD),
    },
    mail: { smtpUrl: read(VARIABLES.smtpUrl), from: read(VARIABLES.mailFrom) },
    chatHookPrefix: read(VARIABLES.chatHookPrefix),
    ratePerMinute: {
      signup: read(VARIABLES.rateSignup),
      login: read(VARIABLES.rateLogin),
      forgot: read(VARIABLES.rateForgot),
      testing: read(VARIABLES.rateTest),
    },
    trustedProxies: read(VARIABLES.trustedProxies) ?? [],
    maxBodyBytes: read(VARIABLES.maxBodyBytes),
    upstreamTimeoutMs: read(VARIABLES.upstreamTimeoutMs),
    webhookAllowPrivate: read(VARIABLES.webhookAllowPrivate),
    webhookRetryDelaysSeconds: read(VARIABLES.webhookRetryDelays),
    role: read(VARIABLES.role),
    workers: read(VARIABLES.workers),
    drainMs: read(VARIABLES.drainMs),
    corsOrigins: read(VARIABLES.corsOrigins) ?? [],
    onClientAbort: read(VARIABLES.onClientAbort),
    retentionDays: read(VARIABLES.retentionDays),
    journalMaxBytes: read(VARIABLES.journalMaxBytes),
    priceSources: read(VARIABLES.priceSources) ?? [],
    logLevel: read(VARIABLES.logLevel),
  };
}

/** Nodes that share a database must share its secrets, so none of them may make up its own. */
function findMissingSecrets(env: NodeJS.ProcessEnv): ConfigProblem[] {
  if (env.DATABASE_URL === undefined) return [];
  const secrets = [VARIABLES.masterKey, VARIABLES.jwtSecret, VARIABLES.ledgerSecret, VARIABLES.operatorToken];
  return secrets
    .filter(({ name }) => env[name] === undefined)
    .map(({ name, allowed }) => ({
      variable: name,
      message: `${name} is missing; DATABASE_URL is set, so every secret must be set too: ${allowed}`,
    }));
}

function findPortClash({ port, proxyPort }: Config): ConfigProblem[] {
  if (port === 0 || port !== proxyPort) return [];
  const { name } = VARIABLES.proxyPort;
  return [
    { variable: name, message: `${name} is the same port as ${VARIABLES.port.name}; give each its own` },
  ];
}

function findUnknownVariables(env: NodeJS.ProcessEnv): ConfigProblem[] {
  const known = new Set(CONFIG_VARIABLES.map(({ name }) => name));
  return Object.keys(env)
    .filter((name) => /^GATEWAY_/i.test(name) && !known.has(name))
    .sort()
    .map((name) => ({ variable: name, message: `${name} is not a known variable${hintFor(name)}` }));
}

function hintFor(name: string): string {
  // Kubernetes injects these for a Service that happens to be called "gateway".
  if (/^GATEWAY_(SERVICE_(HOST|PORT)|PORT_\d+_)/.test(name))
    return '; set enableServiceLinks: false on the pod';
  const nearest = nearestVariable(name);
  return nearest === null ? '' : `; did you mean ${nearest}?`;
}

/** Compared without the prefix, so that GATEWAY_SMTP_URL finds SMTP_URL. */
function nearestVariable(name: string): string | null {
  const bare = (text: string) => text.toUpperCase().replace(/^GATEWAY_/, '');
  const wanted = bare(name).slice(0, 64);
  const ranked = CONFIG_VARIABLES.map((variable) => ({
    name: variable.name,
    edits: editDistance(wanted, bare(variable.name)),
  })).sort((a, b) => a.edits - b.edits);
  const best = ranked[0];
  return best && best.edits <= Math.max(2, wanted.length / 2) ? best.name : null;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}

/** The dashboard's address as written into mails and shown at start; `listeningPort` settles port 0. */
export function dashboardUrl(config: Pick<Config, 'publicUrl' | 'host'>, listeningPort: number): string {
  if (config.publicUrl !== null) return config.publicUrl;
  // The wildcard addresses are for binding; nobody can open them in a browser.
  const reachable = config.host === '0.0.0.0' || config.host === '::' ? 'localhost' : config.host;
  return `http://${isIP(reachable) === 6 ? `[${reachable}]` : reachable}:${listeningPort}`;
}
