// What the kernel says about the CPU that processes have used.
import { readdirSync, readFileSync } from 'node:fs';

/** Nanoseconds of CPU that a process's threads have used. */
export function cpuNs(pid) {
  let total = 0;
  let tasks = [];
  try {
    tasks = readdirSync(`/proc/${pid}/task`);
  } catch {
    // The process has ended since.
  }
  for (const task of tasks) {
    try {
      total += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]);
    } catch {
      // The thread has ended since.
    }
  }
  return total;
}

/** PostgreSQL's processes: the children of the process whose parent is the given one. */
export function postgresPids(parentPid) {
  const parents = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
    } catch {
      // Ended since.
    }
  }
  const command = (pid) => {
    try {
      return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
    } catch {
      return '';
    }
  };
  const postmaster = [...parents].find(
    ([pid, parent]) => parent === parentPid && command(pid) === 'postgres',
  )?.[0];
  return [...parents]
    .filter(([pid, parent]) => pid === postmaster || parent === postmaster)
    .map(([pid]) => pid);
}

export const postgresNs = (parentPid) => postgresPids(parentPid).reduce((sum, pid) => sum + cpuNs(pid), 0);
