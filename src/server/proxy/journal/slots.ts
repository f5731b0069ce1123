import fs from 'node:fs';
import { join } from 'node:path';
import { readIfPresent } from '../../adapters/durable-file.ts';
import { readPidSpace, readProcessStart, waitUntil } from '../../adapters/processes.ts';
import { listSegments, segmentPath } from './segments.ts';

const OWNER_FILE = 'owner.json';
/** A process whose parent was killed ends by itself, at once. */
const EARLIER_OWNER_ENDS_MS = 10_000;
/** What is appended to those of the journal that takes over: records set aside, and ids that leases are held under. */
const CARRIED_FILES = ['quarantine.jsonl', 'node-ids'];

interface Owner {
  pid: number;
  processStart: string | null;
  pidSpace: string;
}

/**
 * The directory of one proxy process's journal, for this process alone. When fewer processes run than did
 * before, the first takes over the segments of those that are gone: what they wrote down is carried into the
 * database all the same.
 */
export async function claimJournal(root: string, slot: number, slots: number): Promise<string> {
  const own = join(root, String(slot));
  await takeOver(own);
  if (slot !== 1) return own;
  for (const name of fs.readdirSync(root)) {
    if (!/^\d+$/.test(name) || Number(name) <= slots) continue;
    const orphan = join(root, name);
    await takeOver(orphan);
    moveInto(own, orphan);
  }
  return own;
}

/** Two processes on one journal would delete what the other relies on; a predecessor must be gone first. */
async function takeOver(directory: string): Promise<void> {
  fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, OWNER_FILE);
  const pidSpace = await readPidSpace();
  const earlier = parseOwner(await readIfPresent(path));
  if (earlier && earlier.pid !== process.pid && earlier.pidSpace === pidSpace) {
    const isGone = async () => (await readProcessStart(earlier.pid)) !== earlier.processStart;
    if (!(await waitUntil(isGone, EARLIER_OWNER_ENDS_MS)))
      throw new Error(`the journal ${directory} is still in use by process ${earlier.pid}`);
  }
  const owner: Owner = { pid: process.pid, processStart: await readProcessStart(process.pid), pidSpace };
  fs.writeFileSync(path, JSON.stringify(owner), { mode: 0o600 });
}

function parseOwner(text: string | null): Owner | null {
  try {
    return text === null ? null : (JSON.parse(text) as Owner);
  } catch {
    // Killed while it was being written, so whoever wrote it is gone.
    return null;
  }
}

function moveInto(own: string, orphan: string): void {
  for (const name of CARRIED_FILES) {
    const path = join(orphan, name);
    if (fs.existsSync(path)) fs.appendFileSync(join(own, name), fs.readFileSync(path), { mode: 0o600 });
  }
  for (const number of listSegments(orphan)) {
    const next = (listSegments(own).at(-1) ?? 0) + 1;
    fs.renameSync(segmentPath(orphan, number), segmentPath(own, next));
  }
  fs.rmSync(orphan, { recursive: true });
}
