import { randomBytes } from 'node:crypto';
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  rmdir,
  stat,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readIfPresent, syncDirectory, writeFileDurably } from './durable-file.ts';
import type { Logger } from './log.ts';
import { findPostgresBinaries, type OsUser, type PostgresBinaries, runAs } from './postgres-binaries.ts';
import { doesPidExist, findPostgresProcesses, sendSignal, waitUntil } from './processes.ts';

const INITDB_TIMEOUT_MS = 120_000;
const PROBE_TIMEOUT_MS = 10_000;
const PASSWORD_BYTES = 24;
/** Where root may put what the database user must reach, when the data directory is out of that user's reach. */
const REACHABLE_PLACES = ['/var/lib', '/srv', '/opt'];
/** Gentle first: a fast shutdown leaves nothing to recover, an immediate one a little, a kill as much as a crash. */
const STOP_LADDER = [
  { signal: 'SIGINT', waitMs: 15_000, to: 'postmaster' },
  { signal: 'SIGQUIT', waitMs: 5_000, to: 'postmaster' },
  { signal: 'SIGKILL', waitMs: 5_000, to: 'everyone' },
] as const;

/** Backends without a postmaster notice and end within moments. */
const ORPHAN_WAIT_MS = 1_000;

/** Kept as `postgres.json` in the data directory; the passwords make the file as secret as `secrets.json`. */
type ClusterState = {
  /** Absolute when the files had to go elsewhere; null: `postgres` in the data directory, wherever that is moved. */
  relocatedTo: string | null;
  superuserPassword: string;
  gatewayPassword: string;
  initialized: boolean;
};

export type Cluster = {
  directory: string;
  user: OsUser;
  binaries: PostgresBinaries;
  superuserPassword: string;
  gatewayPassword: string;
  isNew: boolean;
  markInitialized: () => Promise<void>;
};

/** The database files, made on the first start, found again on every later one, never made twice. */
export async function openCluster(dataDir: string, log: Logger): Promise<Cluster> {
  const stateFile = join(dataDir, 'postgres.json');
  const state = (await readState(stateFile)) ?? (await createState(dataDir, stateFile));
  const directory = state.relocatedTo ?? join(dataDir, 'postgres');
  await stopPostgres(directory, log);
  const user = state.initialized ? await findOwner(directory) : chooseUser(await readPasswd());
  const binaries = await findPostgresBinaries(user, user === null ? [dataDir] : REACHABLE_PLACES);
  if (state.initialized) await checkVersion(directory, binaries);
  else await initializeCluster(directory, user, binaries, state.superuserPassword);
  return {
    directory,
    user,
    binaries,
    superuserPassword: state.superuserPassword,
    gatewayPassword: state.gatewayPassword,
    isNew: !state.initialized,
    markInitialized: () => writeState(stateFile, { ...state, initialized: true }),
  };
}

/** Stops whatever PostgreSQL still runs on these files, such as one whose gateway was killed. */
export async function stopPostgres(directory: string, log: Logger): Promise<void> {
  for (const { signal, waitMs, to } of STOP_LADDER) {
    const pids = await findPostgresProcesses(directory);
    if (pids.length === 0) break;
    const postmaster = await readPostmasterPid(directory);
    // Only the postmaster knows what these signals ask for; a backend without one ends by itself.
    const targets = to === 'everyone' ? pids : pids.filter((pid) => pid === postmaster);
    if (targets.length > 0)
      log.warn({ pids: targets, signal }, 'stopping a PostgreSQL left over on our data');
    for (const pid of targets) sendSignal(pid, signal);
    const limitMs = targets.length > 0 ? waitMs : ORPHAN_WAIT_MS;
    await waitUntil(async () => (await findPostgresProcesses(directory)).length === 0, limitMs);
  }
  const left = await findPostgresProcesses(directory);
  if (left.length > 0) {
    throw new Error(`PostgreSQL processes ${left.join(', ')} on ${directory} cannot be stopped`);
  }
  await removeStalePidFile(directory);
}

async function readPostmasterPid(directory: string): Promise<number> {
  return Number.parseInt((await readIfPresent(join(directory, 'postmaster.pid'))) ?? '', 10);
}

/**
 * PostgreSQL itself clears the file of a dead server, but takes any process with that pid for the server: one
 * that was given the number later, or the server's own zombie in a container where nobody reaps it. Only those
 * are cleared here; a pid that is free is left to PostgreSQL, which also looks for shared memory in use.
 */
async function removeStalePidFile(directory: string): Promise<void> {
  const pid = await readPostmasterPid(directory);
  if (Number.isInteger(pid) && doesPidExist(Math.abs(pid)))
    await rm(join(directory, 'postmaster.pid'), { force: true });
}

async function readState(file: string): Promise<ClusterState | null> {
  const text = await readIfPresent(file);
  if (text === null) return null;
  try {
    const state = JSON.parse(text) as ClusterState;
    if (typeof state.superuserPassword === 'string' && typeof state.gatewayPassword === 'string')
      return state;
  } catch {
    // Falls through: cut short and wrong in shape are the same damage.
  }
  throw new Error(
    `${file} is damaged; restore it from a backup, it holds the passwords of the embedded database`,
  );
}

async function writeState(file: string, state: ClusterState): Promise<void> {
  await writeFileDurably(file, `${JSON.stringify(state, null, 2)}\n`);
}

async function createState(dataDir: string, stateFile: string): Promise<ClusterState> {
  const inPlace = join(dataDir, 'postgres');
  const found = await readdir(inPlace).catch(() => []);
  if (found.length > 0) {
    throw new Error(
      `${inPlace} is not empty but ${stateFile} is missing; restore that file, or move the directory away`,
    );
  }
  const user = chooseUser(await readPasswd());
  if (user !== null) await letPass(dataDir, user);
  const password = () => randomBytes(PASSWORD_BYTES).toString('hex');
  const state: ClusterState = {
    relocatedTo: (await canUse(inPlace, user)) ? null : await createReachablePlace(user),
    superuserPassword: password(),
    gatewayPassword: password(),
    initialized: false,
  };
  await writeState(stateFile, state);
  return state;
}

async function readPasswd(): Promise<string> {
  return (await readIfPresent('/etc/passwd')) ?? '';
}

/** PostgreSQL refuses to run as root. */
function chooseUser(passwd: string): OsUser {
  if (process.getuid?.() !== 0) return null;
  for (const name of ['postgres', 'nobody']) {
    const fields = passwd
      .split('\n')
      .find((line) => line.startsWith(`${name}:`))
      ?.split(':');
    if (fields) return { uid: Number(fields[2]), gid: Number(fields[3]) };
  }
  throw new Error(
    'the embedded PostgreSQL cannot run as root and there is no user postgres or nobody; set DATABASE_URL',
  );
}

/** Who made the files must go on running them, whether we were root then or are now. */
async function findOwner(directory: string): Promise<OsUser> {
  const found = await stat(join(directory, 'PG_VERSION')).catch((fault: NodeJS.ErrnoException) => {
    const reason = fault.code === 'EACCES' ? 'cannot be read by this user' : 'are missing';
    throw new Error(`the files of the embedded database, ${directory}, ${reason}`, { cause: fault });
  });
  const ownUid = process.getuid?.();
  if (found.uid === ownUid) return null;
  if (ownUid === 0) return { uid: found.uid, gid: found.gid };
  throw new Error(
    `the files of the embedded database, ${directory}, belong to user ${found.uid}; start as that user or as root`,
  );
}

/** A data directory that root keeps to itself opens to the database user's group, just enough to pass through. */
async function letPass(dataDir: string, user: NonNullable<OsUser>): Promise<void> {
  const { uid, gid, mode } = await stat(dataDir);
  const isRootsAlone = uid === 0 && gid === 0 && (mode & 0o077) === 0;
  if (!isRootsAlone) return;
  await chown(dataDir, uid, user.gid);
  await chmod(dataDir, (mode & 0o777) | 0o010);
}

/** Makes the directory and asks the user itself, since modes alone do not say who can go where. */
async function canUse(directory: string, user: OsUser): Promise<boolean> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  if (user === null) return true;
  await chown(directory, user.uid, user.gid);
  try {
    await runAs(user, '/bin/sh', ['-c', 'cd "$1" && test -w .', 'sh', directory], PROBE_TIMEOUT_MS);
    return true;
  } catch {
    await rmdir(directory);
    return false;
  }
}

/**
 * The name is random rather than made from the data directory's: whoever deletes a data directory to begin
 * afresh must not find the old database behind new secrets.
 */
async function createReachablePlace(user: OsUser): Promise<string> {
  for (const place of REACHABLE_PLACES) {
    const parent = await mkdtemp(join(place, 'gateway-')).catch(() => null);
    if (parent === null) continue;
    await chmod(parent, 0o711);
    const directory = join(parent, 'postgres');
    if (await canUse(directory, user)) return directory;
    await rm(parent, { recursive: true, force: true });
  }
  throw new Error(
    'no directory for the embedded database that its user can reach; set GATEWAY_DATA_DIR to one',
  );
}

async function checkVersion(directory: string, { majorVersion }: PostgresBinaries): Promise<void> {
  const made = (await readFile(join(directory, 'PG_VERSION'), 'utf8')).trim();
  if (made === majorVersion) return;
  throw new Error(
    `the database in ${directory} was made by PostgreSQL ${made}, this version brings ${majorVersion}; dump and reload it`,
  );
}

async function initializeCluster(
  directory: string,
  user: OsUser,
  { initdb }: PostgresBinaries,
  superuserPassword: string,
): Promise<void> {
  // Not yet marked initialized, so whatever lies there is what a first start left when it was killed.
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const passwordFile = `${directory}.password`;
  await writeFile(passwordFile, superuserPassword, { mode: 0o600 });
  if (user) {
    await chown(directory, user.uid, user.gid);
    await chown(passwordFile, user.uid, user.gid);
  }
  const locale = ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--encoding=UTF8'];
  const access = ['--username=postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
  try {
    // Run inside the directory, where the next start finds and stops it if this one is killed meanwhile.
    const make = ['-D', directory, ...locale, ...access, '--no-sync', '--no-clean', '--no-instructions'];
    await runAs(user, initdb, make, INITDB_TIMEOUT_MS, directory);
    // Syncing once at the end instead of file by file saves seconds on slow disks.
    await runAs(user, initdb, ['-D', directory, '--sync-only'], INITDB_TIMEOUT_MS, directory);
  } catch (fault) {
    const { stderr, message } = fault as Error & { stderr?: string };
    throw new Error(`initdb failed in ${directory}: ${stderr?.trim() || message}`, { cause: fault });
  } finally {
    await rm(passwordFile, { force: true });
  }
  await syncDirectory(dirname(directory));
}
