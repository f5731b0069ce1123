import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readIfPresent } from './durable-file.ts';
import { readPidSpace, readProcessStart } from './processes.ts';

const HEARTBEAT_MS = 2_000;
/** A claim from another container or boot, whose pid we cannot look up, is dead after this much silence. */
const FOREIGN_SILENCE_MS = 10_000;
const RACE_POLL_MS = 20;
/** How long a start waits for a rival that has claimed but not yet decided, or for a foreign claim to fall silent. */
const UNDECIDED_LIMIT_MS = 15_000;

export type DataDir = { kind: 'open'; path: string; release: () => Promise<void> };
export type DataDirRefusal = { kind: 'refused'; message: string };

type Claim = { pid: number; processStart: string; pidSpace: string; hostname: string; held: boolean };
type Rival = { name: string; claim: Claim; isForeign: boolean };

/** Creates the data directory if need be and takes it for this process alone. */
export async function openDataDir(path: string): Promise<DataDir | DataDirRefusal> {
  const claims = join(path, 'lock');
  try {
    await createDirectory(path);
    await mkdir(claims, { recursive: true, mode: 0o700 });
    return await takeLock(path, claims);
  } catch (fault) {
    const { code } = fault as NodeJS.ErrnoException;
    if (code === undefined) throw fault;
    return {
      kind: 'refused',
      message: `GATEWAY_DATA_DIR ${path} cannot be used (${code}); choose a directory this user can write to`,
    };
  }
}

async function createDirectory(path: string): Promise<void> {
  const firstCreated = await mkdir(path, { recursive: true, mode: 0o700 });
  if (firstCreated === undefined || process.getuid?.() !== 0) return;
  // Started as root, the embedded database runs as another user, who must be able to pass through but not to look.
  for (let created = path; created.length >= firstCreated.length; created = dirname(created)) {
    await chmod(created, 0o711);
  }
}

/**
 * Node has no flock, and a single lock file cannot be taken over from a dead owner without a race. So every
 * start first announces a claim under a name of its own, then looks for others: of two that race at least one
 * sees the other. Dead claims may be removed by anybody, since a name, once dead, never comes back.
 */
async function takeLock(path: string, claims: string): Promise<DataDir | DataDirRefusal> {
  const own = await describeSelf();
  const name = `${String(process.pid).padStart(10, '0')}-${randomBytes(8).toString('hex')}`;
  const file = join(claims, name);
  const announce = (held: boolean) => writeFile(file, JSON.stringify({ ...own, held }), { mode: 0o600 });
  const withdraw = () => rm(file, { force: true });
  const end = performance.now() + UNDECIDED_LIMIT_MS;
  for (let announced = false; ; ) {
    const rivals = await findLiveRivals(claims, name, own.pidSpace);
    const [first] = rivals;
    if (first === undefined) {
      if (announced) break;
      await announce(false);
      announced = true;
      continue;
    }
    const holder = rivals.find((rival) => rival.claim.held && !rival.isForeign);
    if (holder || performance.now() > end) {
      await withdraw();
      return { kind: 'refused', message: describeHolder(path, holder ?? first) };
    }
    // Of rivals still undecided the later name steps back, so that exactly one can go on.
    const stepsBack = rivals.some((rival) => !rival.claim.held && rival.name < name);
    if (stepsBack) await withdraw();
    else if (announced) await announce(false); // a claim that falls silent would look dead to another container
    announced &&= !stepsBack;
    await sleep(RACE_POLL_MS);
  }
  await announce(true);
  return { kind: 'open', path, release: keepAlive(file) };
}

async function describeSelf(): Promise<Omit<Claim, 'held'>> {
  const processStart = await readProcessStart(process.pid);
  if (processStart === null) throw new Error('cannot read the start time of this process');
  return { pid: process.pid, processStart, pidSpace: await readPidSpace(), hostname: hostname() };
}

function describeHolder(path: string, { claim, isForeign }: Rival): string {
  const where = isForeign ? ` on ${claim.hostname}` : '';
  return `data directory ${path} is in use by another gateway, pid ${claim.pid}${where}; stop it or set GATEWAY_DATA_DIR`;
}

async function findLiveRivals(claims: string, ownName: string, ownPidSpace: string): Promise<Rival[]> {
  const rivals: Rival[] = [];
  for (const name of (await readdir(claims)).sort()) {
    if (name === ownName) continue;
    const file = join(claims, name);
    const text = await readIfPresent(file);
    if (text === null) continue;
    const claim = parseClaim(text, name);
    const isForeign = claim.pidSpace !== '' && claim.pidSpace !== ownPidSpace;
    if (await isAlive(file, claim, isForeign)) rivals.push({ name, claim, isForeign });
    else await rm(file, { force: true });
  }
  return rivals;
}

async function isAlive(file: string, claim: Claim, isForeign: boolean): Promise<boolean> {
  const start = isForeign ? null : await readProcessStart(claim.pid);
  // A claim whose content has not arrived yet is known by the pid in its name and by its youth.
  const isUnwritten = claim.processStart === '';
  if (!isForeign && !isUnwritten) return start === claim.processStart;
  const modified = await stat(file).catch(() => null);
  return modified !== null && Date.now() - modified.mtimeMs < FOREIGN_SILENCE_MS;
}

function parseClaim(text: string, name: string): Claim {
  try {
    return JSON.parse(text) as Claim;
  } catch {
    const pid = Number.parseInt(name, 10);
    return { pid, processStart: '', pidSpace: '', hostname: '', held: false };
  }
}

/** The heartbeat is for starts that cannot look our pid up; the others ask the kernel. */
function keepAlive(file: string): () => Promise<void> {
  const heartbeat = setInterval(() => {
    const now = new Date();
    utimes(file, now, now).catch(() => undefined);
  }, HEARTBEAT_MS);
  heartbeat.unref();
  return async () => {
    clearInterval(heartbeat);
    await rm(file, { force: true });
  };
}
