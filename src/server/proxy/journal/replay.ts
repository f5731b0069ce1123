import { existsSync } from 'node:fs';
import type { Logger } from '../../adapters/log.ts';
import type { AdmittedRequest } from '../../domain/request-record.ts';
import { isSealed, listSegments, readEntries, segmentPath } from './segments.ts';

const ENTRIES_PER_READ = 1_000;

export interface LeftBehind {
  /** Let through and never ended: the process was killed with them in flight. */
  interrupted: AdmittedRequest[];
  /** How many records are there to be carried on. */
  records: number;
}

/** Reads what an earlier run left behind. Run before the journal is opened for writing. */
export async function readLeftBehind(directory: string, log: Logger): Promise<LeftBehind> {
  if (!existsSync(directory)) return { interrupted: [], records: 0 };
  let records = 0;
  const open = new Map<string, string>();
  for (const number of listSegments(directory)) {
    const path = segmentPath(directory, number);
    let offset = 0;
    for (;;) {
      const read = await readEntries(path, offset, ENTRIES_PER_READ);
      for (const entry of read.entries) {
        if (entry.kind === 'seal') continue;
        const { id } = JSON.parse(entry.json) as AdmittedRequest;
        if (entry.kind === 'begin') open.set(id, entry.json);
        else open.delete(id);
        if (entry.kind === 'end') records += 1;
      }
      offset = read.offset;
      if (read.state === 'more') continue;
      if (read.state === 'damaged') reportDamage(path, offset, log);
      break;
    }
  }
  return { interrupted: [...open.values()].map((json) => JSON.parse(json) as AdmittedRequest), records };
}

/** A torn last entry is what a kill leaves behind; anything unreadable in a sealed segment is not. */
export function reportDamage(path: string, offset: number, log: Logger): void {
  if (isSealed(path)) log.fatal({ path, offset }, 'a sealed journal segment is damaged; records may be lost');
  else log.warn({ path, offset }, 'a journal segment ends in a torn entry, as a kill leaves behind');
}
