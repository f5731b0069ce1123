import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type DataDir, openDataDir } from './data-dir.ts';
import { readPidSpace, readProcessStart } from './processes.ts';

let parent: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'gateway-data-dir-'));
});
afterEach(() => rmSync(parent, { recursive: true, force: true }));

async function open(path: string): Promise<DataDir> {
  const opened = await openDataDir(path);
  if (opened.kind === 'refused') throw new Error(opened.message);
  return opened;
}

function leaveClaim(path: string, claim: Record<string, unknown>, ageSeconds = 0): void {
  mkdirSync(join(path, 'lock'), { recursive: true });
  const file = join(path, 'lock', '0000000042-left');
  writeFileSync(
    file,
    JSON.stringify({ pid: process.pid, processStart: '', pidSpace: '', hostname: 'h', held: true, ...claim }),
  );
  const then = Date.now() / 1000 - ageSeconds;
  utimesSync(file, then, then);
}

test('the directory is made for us alone: nobody else may list it', async () => {
  const opened = await open(join(parent, 'a', 'b'));
  for (const path of ['a', 'a/b']) {
    expect(statSync(join(parent, path)).mode & 0o777).toBe(process.getuid?.() === 0 ? 0o711 : 0o700);
  }
  await opened.release();
});

test('a directory in use is refused, naming the process, until it is released', async () => {
  const opened = await open(parent);
  const second = await openDataDir(parent);
  expect(second).toMatchObject({ kind: 'refused', message: expect.stringContaining(`pid ${process.pid}`) });
  await opened.release();
  const third = await open(parent);
  await third.release();
  expect(readdirSync(join(parent, 'lock'))).toEqual([]);
});

test('a claim whose pid now belongs to another process is taken over', async () => {
  leaveClaim(parent, { processStart: 'another-birth', pidSpace: await readPidSpace() });
  await (await open(parent)).release();
});

test('a claim of a process that still runs holds', async () => {
  leaveClaim(parent, { processStart: await readProcessStart(process.pid), pidSpace: await readPidSpace() });
  expect((await openDataDir(parent)).kind).toBe('refused');
});

test('a claim from another boot or container holds only while it is kept alive', async () => {
  // The same pid and birth as ours: only the silence tells that its owner is gone.
  leaveClaim(parent, { processStart: await readProcessStart(process.pid), pidSpace: 'another boot' }, 3600);
  await (await open(parent)).release();
});

test('a path that cannot be a directory is refused in one line', async () => {
  writeFileSync(join(parent, 'file'), '');
  const opened = await openDataDir(join(parent, 'file'));
  expect(opened).toMatchObject({
    kind: 'refused',
    message: expect.stringMatching(/^GATEWAY_DATA_DIR .*file cannot be used/),
  });
});
