import fs from 'node:fs';
import { join } from 'node:path';
import { listSegments, segmentPath } from './segments.ts';

/**
 * The directory of one proxy process's journal. When fewer processes run than did before, the first takes over
 * the segments of those that are gone: what they wrote down is carried into the database all the same.
 */
export function claimJournal(root: string, slot: number, slots: number): string {
  const own = join(root, String(slot));
  fs.mkdirSync(own, { recursive: true, mode: 0o700 });
  if (slot !== 1) return own;
  for (const name of fs.readdirSync(root)) {
    if (!/^\d+$/.test(name) || Number(name) <= slots) continue;
    const orphan = join(root, name);
    for (const number of listSegments(orphan)) {
      const next = (listSegments(own).at(-1) ?? 0) + 1;
      fs.renameSync(segmentPath(orphan, number), segmentPath(own, next));
    }
    fs.rmSync(orphan, { recursive: true });
  }
  return own;
}
