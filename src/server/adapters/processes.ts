import { execFile } from 'node:child_process';
import { readdir, readFile, readlink, realpath } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { readIfPresent } from './durable-file.ts';

const run = promisify(execFile);
const POLL_MS = 25;

/** What the kernel knows of a process's birth: with the pid it names one process for ever, null when it is dead. */
export async function readProcessStart(pid: number): Promise<string | null> {
  if (process.platform !== 'linux') return readProcessStartFromPs(pid);
  let stat: string;
  try {
    stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return null;
  }
  // The command name stands in parentheses and may itself hold spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, startTicks] = [fields[0], fields[19]];
  // A zombie has let go of everything but its pid.
  return state === 'Z' || state === 'X' ? null : (startTicks ?? null);
}

async function readProcessStartFromPs(pid: number): Promise<string | null> {
  try {
    const { stdout } = await run('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { env: { LC_ALL: 'C' } });
    const [state, ...started] = stdout.trim().split(/\s+/);
    return state === undefined || state.startsWith('Z') ? null : started.join('-');
  } catch {
    return null;
  }
}

/** Names the world in which a pid means something: another boot or another container has other pids. */
export async function readPidSpace(): Promise<string> {
  if (process.platform !== 'linux') return process.platform;
  const boot = (await readIfPresent('/proc/sys/kernel/random/boot_id'))?.trim() ?? '';
  const namespace = await readlink('/proc/self/ns/pid').catch(() => '');
  return `${boot} ${namespace}`;
}

/** Every PostgreSQL process (postmaster, backend, or initdb still at it) that works in this data directory. */
export async function findPostgresProcesses(directory: string): Promise<number[]> {
  const real = await realpath(directory).catch(() => null);
  if (real === null) return [];
  if (process.platform !== 'linux') return findPostmasterWithPs(real);
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const matches = await Promise.all(pids.map((pid) => isPostgresIn(pid, real)));
  return pids.filter((_, index) => matches[index]).map(Number);
}

async function isPostgresIn(pid: string, directory: string): Promise<boolean> {
  try {
    if ((await readlink(`/proc/${pid}/cwd`)) !== directory) return false;
    // A shell that merely stands in the directory is left alone; an upgrade leaves "(deleted)" behind the name.
    const program = basename((await readlink(`/proc/${pid}/exe`)).replace(/ \(deleted\)$/, ''));
    return program === 'postgres' || program === 'initdb';
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code !== 'EACCES') return false;
  }
  // Root in a container may not look into another user's process, but everybody may read how it was started.
  const started = ((await readIfPresent(`/proc/${pid}/cmdline`).catch(() => null)) ?? '').split('\0');
  const program = basename(started[0] ?? '');
  return (program === 'postgres' || program === 'initdb') && started[started.indexOf('-D') + 1] === directory;
}

async function findPostmasterWithPs(directory: string): Promise<number[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,args='], { maxBuffer: 16 * 1024 * 1024 });
  return stdout
    .split('\n')
    .filter((line) => line.includes('postgres') && line.includes(`-D ${directory} `))
    .map((line) => Number.parseInt(line, 10));
}

/** Polls until the condition holds; false when the time is up first. */
export async function waitUntil(holds: () => Promise<boolean>, limitMs: number): Promise<boolean> {
  const end = performance.now() + limitMs;
  while (!(await holds())) {
    if (performance.now() >= end) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/** A process that is already gone is what the sender wanted. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code !== 'ESRCH') throw fault;
  }
}

/** As the kernel's kill() sees it, which counts zombies too. */
export function doesPidExist(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (fault) {
    return (fault as NodeJS.ErrnoException).code === 'EPERM';
  }
}
