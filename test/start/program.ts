/** The smallest server: what `main.ts` does before it listens, copied over `main.ts` in the project under test. */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { openDataDir } from '../../src/server/adapters/data-dir.ts';
import { startEmbeddedPostgres } from '../../src/server/adapters/embedded-postgres.ts';
import { createLogger } from '../../src/server/adapters/log.ts';
import { loadSecrets } from '../../src/server/adapters/secrets.ts';
import { readConfig } from '../../src/server/config.ts';

function refuse(lines: string[]): never {
  for (const line of lines) console.error(line);
  process.exit(1);
}

const reading = readConfig(process.env);
if (reading.kind === 'refused') refuse(reading.problems.map(({ message }) => message));
const { config } = reading;
const dataDir = await openDataDir(config.dataDir);
if (dataDir.kind === 'refused') refuse([dataDir.message]);
const loaded = await loadSecrets(dataDir.path, config.secretsGiven);
if (loaded.kind === 'refused') refuse([loaded.message]);
const log = createLogger(config.logLevel);
const postgres = await startEmbeddedPostgres({ dataDir: dataDir.path, log });
let exits = 0;
postgres.onExit(() => {
  exits += 1;
});
let stopping = false;
async function stop(): Promise<void> {
  if (stopping) return;
  stopping = true;
  // Time enough for a database that felt the same Ctrl-C to go down; it must still take the journal's last records.
  await sleep(300);
  const client = new pg.Client({ connectionString: postgres.connectionString });
  const answeredWhileStopping = await client.connect().then(
    () => true,
    () => false,
  );
  await client.end().catch(() => undefined);
  await postgres.stop();
  if (dataDir.kind === 'open') await dataDir.release();
  console.log(JSON.stringify({ answeredWhileStopping, exits }));
  process.exit(0);
}
process.on('SIGTERM', stop);
process.on('SIGINT', stop);
const { connectionString, dataDirectory } = postgres;
const { operatorToken } = loaded.secrets;
console.log(JSON.stringify({ connectionString, dataDirectory, operatorToken, pid: process.pid }));
