import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type DataDir, openDataDir } from '../server/adapters/data-dir.ts';
import { startEmbeddedPostgres } from '../server/adapters/embedded-postgres.ts';
import { createLogger, type Logger } from '../server/adapters/log.ts';
import { loadSecrets, type Secrets } from '../server/adapters/secrets.ts';
import { startApp } from '../server/app.ts';
import { type Config, readConfig } from '../server/config.ts';
import { type Database, openDatabase } from '../server/store/database.ts';
import { readMigrations } from '../server/store/migrations.ts';
import { startSimulator } from '../simulator/index.ts';
import { type Askers, askingAs, openAskers } from './asking.ts';
import { makeChance } from './chance.ts';
import { WORKLOADS } from './company.ts';
import { demoEnvironment } from './environment.ts';
import { type LocalServices, startLocalServices } from './local-services.ts';
import { buildPastCostIndex } from './operations.ts';
import { type DemoOptions, readOptions, USAGE } from './options.ts';
import { forgetEverything } from './past.ts';
import { type DemoState, newState, readState, writeState } from './state.ts';
import { tellStory } from './story.ts';
import { describeDemo } from './summary.ts';
import { moveReceivers } from './tenants.ts';
import { startTraffic } from './traffic.ts';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const CLIENT = join(ROOT, 'dist', 'gw.cjs');
const DEMO_CONNECTIONS = 3;
/** Of what the demo has written beside the database. */
const OWN_FOLDERS = ['journal', 'history-journal', 'outbox'];
/** The simulator's calls are nobody's business here. */
const MAX_REMEMBERED_CALLS = 1;

/** What stops the demo before it runs: one line for the person at the terminal. */
class Refused extends Error {}

type Stop = () => Promise<unknown>;

/** Runs the demo until it is told to stop; answers the exit code. */
export async function runDemo(env: NodeJS.ProcessEnv, args: readonly string[]): Promise<number> {
  const reading = readOptions(args);
  if (reading.kind === 'help') {
    process.stdout.write(USAGE);
    return 0;
  }
  if (reading.kind === 'refused') {
    process.stderr.write(`demo: ${reading.message}\n\n${USAGE}`);
    return 1;
  }
  const stopping = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stopping.abort());
  const stops: Stop[] = [];
  try {
    await run(env, reading.options, stopping.signal, stops);
    return 0;
  } catch (error) {
    // Whatever a stop in the middle of the story has thrown is no fault of anybody.
    if (stopping.signal.aborted) return 0;
    process.stderr.write(`demo: ${(error as Error).message}${hintOf(error)}\n`);
    return 1;
  } finally {
    // In the opposite order of the start: calls first, the database they are written to last.
    for (const stop of stops.reverse()) await stop();
  }
}

function hintOf(error: unknown): string {
  if (error instanceof Refused) return '';
  const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
  return isTaken
    ? '; set GATEWAY_PORT and GATEWAY_PROXY_PORT to other ports'
    : ' (npm run demo -- --fresh starts over)';
}

async function run(
  env: NodeJS.ProcessEnv,
  options: DemoOptions,
  signal: AbortSignal,
  stops: Stop[],
): Promise<void> {
  const startedAtMs = performance.now();
  const say = (line: string) => {
    const seconds = ((performance.now() - startedAtMs) / 1_000).toFixed(1).padStart(5);
    process.stdout.write(`${seconds} s  ${line}\n`);
  };
  if (env.DATABASE_URL !== undefined)
    throw new Refused('the demo has a database of its own; unset DATABASE_URL');
  const house = await openHouse(env, options, stops);
  const { config, log, secrets, local } = house;
  say('starting the gateway and its database');
  const postgres = await startEmbeddedPostgres({ dataDir: config.dataDir, log });
  stops.push(() => postgres.stop());
  signal.throwIfAborted();
  const databaseUrl = postgres.connectionString;
  if (!house.state.told) await startOver(config.dataDir, databaseUrl);
  await writeState(config.dataDir, house.state);
  const app = await startApp({
    config,
    databaseUrl,
    secrets,
    migrations: await readMigrations(join(ROOT, 'migrations')),
    version: versionOf(ROOT),
    log,
  });
  stops.push(() => app.stop());
  await app.ready;
  signal.throwIfAborted();
  const database = openDatabase({
    url: databaseUrl,
    name: 'gateway-demo',
    connections: DEMO_CONNECTIONS,
    onIdleError: (error) => log.debug({ err: error }, 'a connection of the demo broke'),
  });
  stops.push(() => database.close());
  const [apiUrl, proxyUrl] = [app.apiUrl!, app.proxyUrl!];
  const askers = openAskers(apiUrl, secrets.operatorToken);
  const { dataDir } = config;
  const parts = {
    askers,
    database,
    dataDir,
    ledgerSecret: secrets.ledgerSecret,
    local,
    proxyUrl,
    log,
    say,
    signal,
  };
  const isNew = !house.state.told;
  const state = isNew ? await tellStory(parts, house.state) : await goOn(askers, local, house.state, say);
  await writeState(dataDir, state);
  const { callsPerSecond } = options;
  const chance = makeChance(state.seed ^ Date.now());
  const traffic = startTraffic({ proxyUrl, keys: state.keys, workloads: WORKLOADS, callsPerSecond, chance });
  stops.push(() => traffic.stop());
  say(isNew ? 'the story is told' : 'going on with the story of the last run');
  process.stdout.write(describeDemo(state, { apiUrl, proxyUrl, dataDir, program: CLIENT, callsPerSecond }));
  if (isNew) stops.push(indexThePast(parts, signal));
  await untilStopped(signal);
}

interface House {
  config: Config;
  secrets: Secrets;
  state: DemoState;
  local: LocalServices;
  log: Logger;
}

/** Everything around the gateway, and the directory that is the demo's alone. */
async function openHouse(env: NodeJS.ProcessEnv, options: DemoOptions, stops: Stop[]): Promise<House> {
  const simulator = await startSimulator({ seed: options.seed, maxCalls: MAX_REMEMBERED_CALLS });
  stops.push(() => simulator.close());
  // Only the directory is taken from this reading: the addresses in it are not those of the services yet.
  const { dataDir } = configOf(env, { simulator, local: NOWHERE });
  const opened = await openDataDir(dataDir);
  if (opened.kind === 'refused') throw new Refused(opened.message);
  stops.push((opened as DataDir).release);
  const found = await readState(dataDir);
  if (found === 'foreign')
    throw new Refused(
      `${dataDir} holds data that is not the demo's; set GATEWAY_DATA_DIR to another directory`,
    );
  const goesOn = found?.told === true && !options.fresh;
  const local = await startLocalServices(found?.localPort ?? 0);
  stops.push(() => local.close());
  const state = goesOn ? found : newState(options.seed, options.requests);
  const config = configOf(env, { simulator, local });
  const loaded = await loadSecrets(dataDir, config.secretsGiven);
  if (loaded.kind === 'refused') throw new Refused(loaded.message);
  const log = createLogger(config.logLevel);
  return { config, secrets: loaded.secrets, state: { ...state, localPort: local.port }, local, log };
}

const NOWHERE: LocalServices = {
  port: 0,
  url: 'http://127.0.0.1',
  chatPrefix: 'http://127.0.0.1/chat/',
  chatHook: 'http://127.0.0.1/chat/none',
  priceSource: 'models_dev=http://127.0.0.1/none',
  close: async () => undefined,
};

function configOf(env: NodeJS.ProcessEnv, around: Parameters<typeof demoEnvironment>[1]): Config {
  const reading = readConfig(demoEnvironment(env, around));
  if (reading.kind === 'config') return reading.config;
  throw new Refused(reading.problems.map(({ message }) => message).join('; '));
}

/** The directory has been found to be the demo's own; its database and its secrets stay, what was in it goes. */
async function startOver(dataDir: string, databaseUrl: string): Promise<void> {
  await forgetEverything(databaseUrl);
  for (const folder of OWN_FOLDERS) await rm(join(dataDir, folder), { recursive: true, force: true });
}

async function goOn(
  askers: Askers,
  local: LocalServices,
  state: DemoState,
  say: (line: string) => void,
): Promise<DemoState> {
  const { email, password } = state;
  const answer = await askers.anyone.call('login', { body: { email, password } });
  // Somebody tried out how a password is changed or an account is closed: what is left of the tour goes on.
  if (answer.ok) await moveReceivers(askingAs(askers, answer.data.token), local);
  else say('the log-in below is no longer good; npm run demo -- --fresh starts over');
  return state;
}

/** Takes a while and only the public index needs it, so it happens beside everything else. */
function indexThePast(
  { askers, database, log }: { askers: Askers; database: Database; log: Logger },
  signal: AbortSignal,
): Stop {
  const building = buildPastCostIndex(database, askers.operator, Date.now(), signal).catch((error: Error) => {
    if (!signal.aborted) log.warn({ err: error }, 'the past of the public index is not whole');
  });
  return () => building;
}

function versionOf(root: string): string {
  return (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version;
}

async function untilStopped(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
