import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { encodeFrames, SEAL } from '../../src/server/proxy/journal/frame.ts';
import { Journal, JournalUnavailable } from '../../src/server/proxy/journal/journal.ts';
import { readLeftBehind } from '../../src/server/proxy/journal/replay.ts';
import {
  type Disk,
  isSealed,
  listSegments,
  readEntries,
  segmentPath,
} from '../../src/server/proxy/journal/segments.ts';
import {
  admitted,
  type DiskCall,
  type DiskEvent,
  ended,
  endedIds,
  ForgetfulDisk,
  failingDisk,
  readBack,
  SILENT,
} from './disks.ts';

const MIB = 1024 * 1024;
const REQUESTS = 40;

let directory: string;
beforeEach(() => {
  directory = fs.mkdtempSync(join(tmpdir(), 'gateway-journal-'));
});
afterEach(() => fs.rmSync(directory, { recursive: true, force: true }));

function open(disk?: Disk, maxBytes = 64 * MIB): Journal {
  return new Journal({ directory, maxBytes, log: SILENT, ...(disk && { disk }) });
}

const idOf = (n: number) => `request-${n}`;

/** Requests one after the other, several at once; says which were promised to be on disk. */
async function run(journal: Journal, requests: number): Promise<{ promised: string[]; refused: Error[] }> {
  const promised: string[] = [];
  const refused: Error[] = [];
  const one = async (n: number) => {
    try {
      await journal.begin(admitted(idOf(n)));
      await journal.end(...ended(idOf(n)));
      promised.push(idOf(n));
    } catch (error) {
      refused.push(error as Error);
    }
  };
  for (let n = 0; n < requests; n += 4)
    await Promise.all([one(n), one(n + 1), one(n + 2), one(n + 3)].slice(0, requests - n));
  return { promised, refused };
}

describe('in order', () => {
  test('what is written at once is synced at once, and all that was written during a sync by the next', async () => {
    const { disk, events } = failingDisk(() => null);
    const journal = open(disk);
    events.length = 0;
    await Promise.all(Array.from({ length: 100 }, (_, n) => journal.end(...ended(idOf(n)))));
    expect(events.filter(({ call }) => call === 'write')).toHaveLength(1);
    expect(events.filter(({ call }) => call === 'sync')).toHaveLength(1);
    await journal.close();
    expect(await endedIds(directory)).toHaveLength(100);
  });

  test('a request without an end is found by the next start, one with an end is not', async () => {
    const journal = open();
    await journal.begin(admitted('a'));
    await journal.begin(admitted('b'));
    await journal.end(...ended('a'));
    await journal.close();
    const { interrupted, records } = await readLeftBehind(directory, SILENT);
    expect(interrupted.map(({ id }) => id)).toEqual(['b']);
    expect(records).toBe(1);
  });

  test('a journal closed with nothing open is sealed, one with a request open is not', async () => {
    const journal = open();
    await journal.end(...ended('a'));
    await journal.close();
    expect(isSealed(segmentPath(directory, 1))).toBe(true);
    const next = open();
    await next.begin(admitted('b'));
    await next.close();
    expect(isSealed(segmentPath(directory, 2))).toBe(false);
  });

  test('a new segment begins with the requests in flight, so that older ones can go', async () => {
    const journal = open(undefined, MIB);
    await journal.begin(admitted('long'));
    for (let n = 0; listSegments(directory).length < 3; n += 1)
      await journal.end(...ended(idOf(n), 'x'.repeat(20_000)));
    journal.release(journal.currentSegment);
    expect(listSegments(directory)).toEqual([journal.currentSegment]);
    await journal.close();
    expect((await readLeftBehind(directory, SILENT)).interrupted.map(({ id }) => id)).toEqual(['long']);
  });

  test('a request that has ended is not carried into the next segment', async () => {
    const journal = open(undefined, MIB);
    for (let n = 0; listSegments(directory).length < 3; n += 1) {
      await journal.begin(admitted(idOf(n), 'x'.repeat(10_000)));
      await journal.end(...ended(idOf(n), 'x'.repeat(10_000)));
    }
    journal.release(journal.currentSegment);
    await journal.close();
    expect((await readLeftBehind(directory, SILENT)).interrupted).toEqual([]);
  });
});

describe.each(['write', 'sync', 'open'] as const)('when the n-th %s fails', (failing: DiskCall) => {
  const counts = Array.from({ length: 30 }, (_, index) => index + 1);

  test.each(['EIO', 'ENOSPC'])('with %s, nothing that was promised is lost', async (code) => {
    for (const n of counts) {
      const { disk, events } = failingDisk((call, count) => (call === failing && count === n ? code : null));
      const journal = open(disk);
      const { promised, refused } = await run(journal, REQUESTS);
      await journal.close();
      const found = new Set(await endedIds(directory));
      expect(promised.filter((id) => !found.has(id))).toEqual([]);
      // One bad spot is healed by a fresh segment; nobody is refused for it.
      expect(refused).toEqual([]);
      expect(promised).toHaveLength(REQUESTS);
      expectNoUseAfterFailure(events);
      for (const number of listSegments(directory)) fs.unlinkSync(segmentPath(directory, number));
    }
  });

  test('and the one after it too, requests are refused, and taken again by itself', async () => {
    for (const n of [1, 2, 5]) {
      const { disk, events } = failingDisk((call, count) =>
        call === failing && (count === n || count === n + 1) ? 'EIO' : null,
      );
      const journal = open(disk);
      const { promised, refused } = await run(journal, REQUESTS);
      for (const error of refused) expect(error).toBeInstanceOf(JournalUnavailable);
      // A new segment is tried every second.
      for (let look = 0; look < 500 && !journal.writable; look += 1)
        await new Promise((resolve) => setTimeout(resolve, 10));
      await journal.begin(admitted('after'));
      await journal.end(...ended('after'));
      await journal.close();
      const found = new Set(await endedIds(directory));
      expect([...promised, 'after'].filter((id) => !found.has(id))).toEqual([]);
      // What was refused is no request that a kill cut short: either its record is here or it never began.
      expect((await readLeftBehind(directory, SILENT)).interrupted).toEqual([]);
      expectNoUseAfterFailure(events);
      for (const number of listSegments(directory)) fs.unlinkSync(segmentPath(directory, number));
    }
  });
});

/** After a failed write or sync nothing is written to that file any more, and no later sync of it is believed. */
function expectNoUseAfterFailure(events: readonly DiskEvent[]): void {
  const broken = new Set<number>();
  for (const { call, fd, failed } of events) {
    if (call === 'open') broken.delete(fd);
    else if (call === 'write') expect(broken.has(fd)).toBe(false);
    if (call !== 'open' && failed) broken.add(fd);
  }
}

describe('when the power is cut', () => {
  test('at any moment, what was promised is there and the next start can read it', async () => {
    const seeds = fc.sample(fc.integer({ min: 1, max: 2 ** 31 - 1 }), 300);
    for (const seed of seeds) {
      const random = randomOf(seed);
      const forgetful = new ForgetfulDisk();
      const journal = open(forgetful.disk, 2 * MIB);
      const promised: string[] = [];
      const padding = 'x'.repeat(random(20_000));
      for (let n = 0; n < 30; n += 1) {
        const id = idOf(n);
        void journal
          .begin(admitted(id, padding))
          .then(() => journal.end(...ended(id, padding)))
          .then(() => promised.push(id))
          .catch(() => {});
        for (let turn = random(4); turn > 0; turn -= 1) await new Promise((resolve) => setImmediate(resolve));
      }
      forgetful.cutPower(directory, random);
      const kept = [...promised];
      const found = new Set(await endedIds(directory));
      expect({ seed, lost: kept.filter((id) => !found.has(id)) }).toEqual({ seed, lost: [] });
      await readLeftBehind(directory, SILENT);
      const next = open();
      await next.end(...ended('after'));
      await next.close();
      expect(await endedIds(directory)).toContain('after');
      fs.rmSync(directory, { recursive: true });
    }
  });
});

/** A small generator of whole numbers, the same for the same seed. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return below <= 1 ? 0 : (state >>> 8) % below;
  };
}

describe('what is on disk', () => {
  test('a torn tail ends the readable part, at every length of the tear', async () => {
    const journal = open();
    for (const id of ['a', 'b', 'c']) await journal.end(...ended(id));
    await journal.begin(admitted('d'));
    await journal.close();
    const path = segmentPath(directory, 1);
    const whole = fs.readFileSync(path);
    for (let length = 0; length < whole.length; length += 1) {
      fs.writeFileSync(path, whole.subarray(0, length));
      const { entries, offset } = await readEntries(path, 0, 100);
      expect(offset).toBeLessThanOrEqual(length);
      expect(entries.length).toBeLessThan(5);
    }
  });

  test('any changed byte of a sealed segment is noticed', async () => {
    const journal = open();
    for (const id of ['a', 'b', 'c']) await journal.end(...ended(id));
    await journal.close();
    const path = segmentPath(directory, 1);
    const whole = fs.readFileSync(path);
    for (let at = 0; at < whole.length - encodeFrames([SEAL]).length; at += 1) {
      const changed = Buffer.from(whole);
      changed[at]! ^= 0x01;
      fs.writeFileSync(path, changed);
      const { entries, state, offset } = await readEntries(path, 0, 100);
      expect(state === 'damaged' || offset < whole.length).toBe(true);
      expect(entries.filter(({ kind }) => kind === 'end').length).toBeLessThan(3);
      expect(isSealed(path)).toBe(true);
    }
  });

  test('a full journal takes nothing new, lets what is in flight end, and takes again once it is carried on', async () => {
    const journal = open(undefined, MIB);
    await journal.begin(admitted('in flight'));
    for (let n = 0; journal.writable; n += 1) await journal.end(...ended(idOf(n), 'x'.repeat(50_000)));
    await expect(journal.begin(admitted('new'))).rejects.toBeInstanceOf(JournalUnavailable);
    await journal.end(...ended('in flight'));
    journal.release(journal.currentSegment);
    expect(journal.writable).toBe(true);
    await journal.begin(admitted('new'));
    await journal.end(...ended('new'));
    await journal.close();
    expect((await readBack(directory)).filter(({ kind }) => kind === 'end').length).toBeGreaterThan(0);
  });
});
