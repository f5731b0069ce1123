import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CONFIG_VARIABLES, type Config, dashboardUrl, readConfig } from './config.ts';

const SECRETS = {
  GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  GATEWAY_JWT_SECRET: 'j'.repeat(32),
  GATEWAY_LEDGER_SECRET: 'l'.repeat(32),
  GATEWAY_OPERATOR_TOKEN: 'o'.repeat(32),
};

function accept(env: NodeJS.ProcessEnv): Config {
  const reading = readConfig(env);
  if (reading.kind === 'refused') throw new Error(reading.problems.map(({ message }) => message).join('\n'));
  return reading.config;
}

function refusals(env: NodeJS.ProcessEnv): string[] {
  const reading = readConfig(env);
  return reading.kind === 'refused' ? reading.problems.map(({ message }) => message) : [];
}

/** For each variable: texts it takes, and texts it must not. */
const EXAMPLES: Record<string, { good: string[]; bad: string[] }> = {
  GATEWAY_HOST: {
    good: ['0.0.0.0', '::1', 'localhost', 'a-b.example'],
    bad: ['127.0.0.1:80', '999.1.1.1', 'a b', '-x'],
  },
  GATEWAY_PORT: { good: ['0', '65535'], bad: ['65536', '-1', '80.5', 'http', ' 80', '0x50', '1e3'] },
  GATEWAY_PROXY_PORT: { good: ['0', '9000'], bad: ['65536', 'x'] },
  GATEWAY_PUBLIC_URL: {
    good: ['https://gw.example.com/'],
    bad: ['gw.example.com', 'ftp://x', 'https://a:b@x', 'https://x/?q=1'],
  },
  GATEWAY_DATA_DIR: { good: ['/tmp/x', 'relative'], bad: ['a\0b'] },
  DATABASE_URL: {
    good: ['postgres://u:p@h/db', 'postgresql:///db?host=/run'],
    bad: ['mysql://h/db', 'h/db'],
  },
  GATEWAY_MASTER_KEY: {
    good: [SECRETS.GATEWAY_MASTER_KEY],
    bad: [
      Buffer.alloc(31, 7).toString('base64'),
      Buffer.alloc(33, 7).toString('base64'),
      'k'.repeat(44),
      `${SECRETS.GATEWAY_MASTER_KEY} `,
    ],
  },
  GATEWAY_JWT_SECRET: { good: ['j'.repeat(32)], bad: ['j'.repeat(31), ' '.repeat(40), 'j'.repeat(5000)] },
  GATEWAY_LEDGER_SECRET: { good: ['l'.repeat(32)], bad: ['l'.repeat(31)] },
  GATEWAY_OPERATOR_TOKEN: {
    good: ['o'.repeat(32)],
    bad: ['o'.repeat(31), `${'o'.repeat(32)} x`, 'ö'.repeat(32)],
  },
  GATEWAY_PROV_A_URL: {
    good: ['http://127.0.0.1:9/v1/'],
    bad: ['api.openai.com', 'https://k@h', 'file:///x'],
  },
  GATEWAY_PROV_B_URL: { good: ['https://b.example'], bad: ['b'] },
  GATEWAY_PROV_C_URL: { good: ['https://c.example'], bad: ['c'] },
  GATEWAY_PROV_D_URL: { good: ['https://d.example'], bad: ['d'] },
  SMTP_URL: { good: ['smtp://mail:25', 'smtps://u:p@mail'], bad: ['mail:25', 'http://mail', 'smtp://'] },
  GATEWAY_MAIL_FROM: { good: ['a@b.example', 'A B <a@b.example>'], bad: ['a', 'a@b\r\nBcc: x@y', '<a>'] },
  GATEWAY_CHAT_HOOK_PREFIX: {
    good: ['https://chat.example/hooks/'],
    bad: ['chat.example', 'https://u:p@chat.example/'],
  },
  GATEWAY_RATE_SIGNUP: { good: ['0', '100'], bad: ['-1', 'many'] },
  GATEWAY_RATE_LOGIN: { good: ['0', '100'], bad: ['-1', '1.5'] },
  GATEWAY_RATE_FORGOT: { good: ['0', '100'], bad: ['-1', '10/min'] },
  GATEWAY_RATE_TEST: { good: ['0', '100'], bad: ['-1', 'none'] },
  GATEWAY_TRUSTED_PROXIES: {
    good: ['10.0.0.0/8, ::1', '192.168.1.1'],
    bad: ['10', '10.0.0.0/33', 'proxy.local', '10.0.0.1,'],
  },
  GATEWAY_MAX_BODY_BYTES: { good: ['1024'], bad: ['1023', '1073741825', '32MiB'] },
  GATEWAY_UPSTREAM_TIMEOUT_MS: { good: ['1'], bad: ['0', '86400001', '10s'] },
  GATEWAY_WEBHOOK_ALLOW_PRIVATE: { good: ['0', '1'], bad: ['yes', 'true', '2'] },
  GATEWAY_WEBHOOK_RETRY_SCHEDULE: {
    good: ['0', '0,1,2'],
    bad: ['0,,1', '0,-1', '0,604801', '5s', Array(21).fill('1').join()],
  },
  GATEWAY_ROLE: { good: ['all', 'api', 'proxy', 'worker'], bad: ['both', 'ALL'] },
  GATEWAY_WORKERS: { good: ['1', '64'], bad: ['0', '65'] },
  GATEWAY_DRAIN_MS: { good: ['0'], bad: ['3600001', '-1'] },
  GATEWAY_CORS_ORIGINS: {
    good: ['https://a.example,http://localhost:3000'],
    bad: ['*', 'https://a.example/', 'a.example'],
  },
  GATEWAY_ON_CLIENT_ABORT: { good: ['abort', 'drain'], bad: ['ignore'] },
  GATEWAY_RETENTION_DAYS: { good: ['0', '90'], bad: ['-1', '36501'] },
  GATEWAY_PRICE_SOURCES: {
    good: [
      'models_dev=https://models.dev/api.json',
      'html:prov_a=https://example.com/prices?a=b, litellm=http://127.0.0.1:9/x.json',
    ],
    bad: [
      'https://models.dev/api.json',
      'models_dev=http://models.dev/api.json',
      'html=https://example.com',
      'html:prov_e=https://example.com',
      'models_dev=https://user:secret@example.com',
    ],
  },
  GATEWAY_JOURNAL_MAX_BYTES: { good: ['1048576'], bad: ['1048575', '1GiB'] },
  GATEWAY_LOG_LEVEL: { good: ['debug', 'silent'], bad: ['verbose', 'INFO'] },
};

test('the examples cover every variable there is', () => {
  expect(Object.keys(EXAMPLES).sort()).toEqual(CONFIG_VARIABLES.map(({ name }) => name).sort());
});

describe.each(Object.entries(EXAMPLES))('%s', (name, { good, bad }) => {
  // The other secrets are there so that only the variable under test can be at fault.
  const surroundings = name === 'DATABASE_URL' ? SECRETS : {};
  const allowed = CONFIG_VARIABLES.find((variable) => variable.name === name)!.allowed;

  test.each(good)('takes %j', (text) => {
    expect(refusals({ ...surroundings, [name]: text })).toEqual([]);
  });

  test.each(bad)('refuses %j in one line that names it and says what is allowed', (text) => {
    expect(refusals({ ...surroundings, [name]: text })).toEqual([
      `${name} is not valid; allowed is ${allowed}`,
    ]);
  });

  test('refuses to be empty', () => {
    expect(refusals({ ...surroundings, [name]: '' })).toEqual([
      `${name} is empty; unset it, or give ${allowed}`,
    ]);
  });
});

test('with nothing set the documented defaults hold', () => {
  expect(accept({})).toMatchObject({
    host: '127.0.0.1',
    port: 8080,
    proxyPort: 8081,
    publicUrl: null,
    databaseUrl: null,
    secretsGiven: {},
    upstreamUrls: { prov_a: 'https://api.openai.com', prov_d: 'https://api.deepseek.com' },
    mail: { smtpUrl: null },
    chatHookPrefix: 'https://hooks.slack.com/services/',
    ratePerMinute: { signup: 20, login: 20, forgot: 10, testing: 30 },
    trustedProxies: [],
    maxBodyBytes: 33_554_432,
    upstreamTimeoutMs: 600_000,
    webhookAllowPrivate: false,
    webhookRetryDelaysSeconds: [0, 5, 300, 1800, 7200, 18_000, 36_000, 36_000],
    role: 'all',
    workers: 1,
    drainMs: 30_000,
    corsOrigins: [],
    onClientAbort: 'abort',
    retentionDays: 0,
    journalMaxBytes: 1_073_741_824,
    logLevel: 'info',
  });
});

test('a base address loses its trailing slash, so that paths can be appended', () => {
  expect(accept({ GATEWAY_PROV_A_URL: 'http://127.0.0.1:9/v1/' }).upstreamUrls.prov_a).toBe(
    'http://127.0.0.1:9/v1',
  );
});

test('a single trusted address is a network of one', () => {
  expect(accept({ GATEWAY_TRUSTED_PROXIES: '192.168.1.1,::1' }).trustedProxies).toEqual([
    '192.168.1.1/32',
    '::1/128',
  ]);
});

test.each(Object.keys(SECRETS))('with DATABASE_URL a missing %s is refused', (name) => {
  const env: NodeJS.ProcessEnv = { DATABASE_URL: 'postgres://h/db', ...SECRETS };
  expect(refusals(env)).toEqual([]);
  delete env[name];
  expect(refusals(env)).toEqual([expect.stringContaining(`${name} is missing; DATABASE_URL is set`)]);
});

test('the two listeners cannot share a port', () => {
  expect(refusals({ GATEWAY_PORT: '8081' })).toEqual([
    expect.stringContaining('GATEWAY_PROXY_PORT is the same port'),
  ]);
  expect(refusals({ GATEWAY_PORT: '0', GATEWAY_PROXY_PORT: '0' })).toEqual([]);
});

test.each([
  ['GATEWAY_PROT', '; did you mean GATEWAY_PORT?'],
  ['GATEWAY_PROXYPORT', '; did you mean GATEWAY_PROXY_PORT?'],
  ['GATEWAY_SMTP_URL', '; did you mean SMTP_URL?'],
  ['GATEWAY_DATABASE_URL', '; did you mean DATABASE_URL?'],
  ['gateway_port', '; did you mean GATEWAY_PORT?'],
  ['GATEWAY_SERVICE_HOST', '; set enableServiceLinks: false on the pod'],
  ['GATEWAY_XYLOPHONE_QUARTET', ''],
])('the unknown name %s is refused%s', (name, hint) => {
  expect(refusals({ [name]: 'x' })).toEqual([`${name} is not a known variable${hint}`]);
});

test('every problem is told at once, each on a line of its own', () => {
  const lines = refusals({ GATEWAY_PORT: 'x', GATEWAY_ROLE: 'x', GATEWAY_PROT: 'x' });
  expect(lines).toHaveLength(3);
  expect(lines.join('')).not.toContain('\n');
});

test('no problem ever quotes a value, which may be a secret', () => {
  const names = fc.constantFrom(...CONFIG_VARIABLES.map(({ name }) => name), 'GATEWAY_UNKNOWN');
  const marker = 'hunter2hunter2';
  fc.assert(
    fc.property(names, fc.string(), fc.string(), (name, before, after) => {
      const lines = refusals({ [name]: `${before}${marker}${after}` });
      expect(lines.join('\n')).not.toContain(marker);
    }),
  );
});

test.each([
  [{ publicUrl: 'https://gw.example', host: '127.0.0.1' }, 'https://gw.example'],
  [{ publicUrl: null, host: '127.0.0.1' }, 'http://127.0.0.1:8080'],
  [{ publicUrl: null, host: '0.0.0.0' }, 'http://localhost:8080'],
  [{ publicUrl: null, host: '::1' }, 'http://[::1]:8080'],
])('the dashboard of %j is at %s', (config, url) => {
  expect(dashboardUrl(config, 8080)).toBe(url);
});
