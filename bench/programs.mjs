// The programs a benchmark runs, and how it speaks to them.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

const children = [];

/** Starts a program of ours; answers when its output matches. */
export function start(args, env, ready) {
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  return new Promise((resolve, reject) => {
    let output = '';
    child.once('exit', (code) => reject(new Error(`${args[0]} ended with ${code}`)));
    child.stdout.on('data', (chunk) => {
      output += chunk;
      const found = ready.exec(output);
      if (found) resolve({ pid: child.pid, found, output });
    });
  });
}

export async function stopAll() {
  for (const child of children) child.removeAllListeners('exit').kill('SIGTERM');
  const ended = (child) =>
    child.exitCode ?? child.signalCode ?? new Promise((resolve) => child.once('exit', resolve));
  await Promise.all(children.map(ended));
}

/** The four providers, scripted; answers the address of the first. */
export async function startSimulator() {
  const ready = /GATEWAY_PROV_A_URL=(\S+)[\s\S]*GATEWAY_PROV_D_URL=\S+/;
  return (await start(['dist/simulator/main.js', '0'], {}, ready)).found[1];
}

/** What `npm start` gives node: the gateway is measured as it is run. */
function startFlags() {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  return scripts.start.match(/--\S+/g) ?? [];
}

export async function startGateway(dataDir, upstream, env = {}) {
  const settings = {
    GATEWAY_DATA_DIR: dataDir,
    GATEWAY_PORT: '0',
    GATEWAY_PROXY_PORT: '0',
    GATEWAY_PROV_A_URL: upstream,
    GATEWAY_LOG_LEVEL: 'error',
    ...env,
  };
  const ready = /API\s+(http:\S+)\/v1[\s\S]*proxy\s+(http:\/\/[^/]+)[\s\S]*data/;
  const gateway = await start([...startFlags(), 'dist/server/main.js'], settings, ready);
  const [, base, proxy] = gateway.found;
  return { gateway, base, proxy };
}

/** A tenant that can call the first provider. */
export async function onboard(base, name) {
  const account = { name, email: `${name}@example.com`, password: 'bench bench' };
  const { token, tenant_id: tenantId } = await api(base, 'POST', '/v1/auth/signup', null, account);
  await api(base, 'POST', '/v1/provider-keys', token, { provider: 'prov_a', key: 'sk-upstream' });
  const { key } = await api(base, 'POST', '/v1/api-keys', token, { name });
  return { token, tenantId, key };
}

export async function api(base, method, path, token, body) {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(base + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  if (!response.ok)
    throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
  return response.json();
}

export async function ledgerCount(base, token) {
  return (await api(base, 'GET', '/v1/ledger?limit=1', token)).total;
}

export async function untilLedgerHolds(base, token, count) {
  for (let tries = 0; tries < 600; tries += 1) {
    if ((await ledgerCount(base, token)) >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`the ledger never reached ${count} records`);
}

export const percentile = (numbers, share) =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length * share)] ?? 0;

export const CALL = {
  path: '/v1/proxy/prov_a/v1/chat/completions',
  body: JSON.stringify({
    model: 'gpt-4o-mini',
    max_tokens: 64,
    messages: [{ role: 'user', content: 'Say hello in one short sentence, please.' }],
  }),
};
