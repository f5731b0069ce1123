import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readPidSpace, readProcessStart } from '../../adapters/processes.ts';
import { keepOnlyNodeId, takeNodeId } from '../node-id.ts';
import { claimJournal } from './slots.ts';

let root: string;
beforeEach(() => {
  root = fs.mkdtempSync(join(tmpdir(), 'gateway-slots-'));
});
afterEach(() => fs.rmSync(root, { recursive: true, force: true }));

function write(slot: number, name: string, text: string): void {
  fs.mkdirSync(join(root, String(slot)), { recursive: true });
  fs.writeFileSync(join(root, String(slot), name), text);
}

test('the first of fewer processes takes over segments, records set aside and node ids of those that are gone', async () => {
  write(1, '0000000007.journal', 'own');
  write(1, 'node-ids', 'one\n');
  write(2, '0000000001.journal', 'kept by another');
  write(3, '0000000001.journal', 'first');
  write(3, '0000000002.journal', 'second');
  write(3, 'node-ids', 'three\n');
  write(3, 'quarantine.jsonl', '{}\n');
  const own = await claimJournal(root, 1, 2);
  expect(fs.readdirSync(root).sort()).toEqual(['1', '2']);
  const read = (name: string) => fs.readFileSync(join(own, name), 'utf8');
  expect(read('0000000007.journal')).toBe('own');
  expect(read('0000000008.journal')).toBe('first');
  expect(read('0000000009.journal')).toBe('second');
  expect(read('quarantine.jsonl')).toBe('{}\n');
  const { nodeId, earlierNodeIds } = await takeNodeId(own);
  expect(earlierNodeIds).toEqual(['one', 'three']);
  expect(earlierNodeIds).not.toContain(nodeId);
});

test('any other than the first takes its own and nothing more', async () => {
  write(3, '0000000001.journal', 'left behind');
  await claimJournal(root, 2, 2);
  expect(fs.readdirSync(root).sort()).toEqual(['2', '3']);
});

test('a journal is taken over only when the process that wrote to it is gone', async () => {
  const other = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)'], { stdio: 'ignore' });
  const processStart = await readProcessStart(other.pid!);
  write(1, 'owner.json', JSON.stringify({ pid: other.pid, processStart, pidSpace: await readPidSpace() }));
  let claimed = false;
  const claiming = claimJournal(root, 1, 1).then(() => {
    claimed = true;
  });
  for (let look = 0; look < 20; look += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(claimed).toBe(false);
  other.kill('SIGKILL');
  await once(other, 'exit');
  await claiming;
  expect(JSON.parse(fs.readFileSync(join(root, '1', 'owner.json'), 'utf8')).pid).toBe(process.pid);
});

test('ids of earlier runs are remembered until nothing of theirs is left', async () => {
  const directory = await claimJournal(root, 1, 1);
  const first = await takeNodeId(directory);
  const second = await takeNodeId(directory);
  const third = await takeNodeId(directory);
  expect(third.earlierNodeIds).toEqual([first.nodeId, second.nodeId]);
  await keepOnlyNodeId(directory, third.nodeId);
  expect((await takeNodeId(directory)).earlierNodeIds).toEqual([third.nodeId]);
});
