import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../../src/server/adapters/log.ts';
import { recorded } from '../../src/server/jobs/recorded.ts';
import type { JobParts } from '../../src/server/jobs/task.ts';
import { type Database, openDatabase } from '../../src/server/store/database.ts';
import { listJobRuns, registerJobs } from '../../src/server/store/job-runs.ts';
import { makeDatabase } from '../harness.ts';

const NOW = Date.parse('2026-11-15T12:00:00Z');

let database: Database;
let parts: JobParts;

const runs = () => database.asSystem(listJobRuns);

beforeAll(async () => {
  const url = await makeDatabase();
  database = openDatabase({ url, name: 'test', connections: 2, onIdleError: () => undefined });
  parts = { database, nowMs: () => NOW, log: createLogger('silent') } as JobParts;
  await database.asSystem((db) =>
    registerJobs(db, [
      { name: 'scrape_prices', schedule: '0 3 * * *' },
      { name: 'gone', schedule: '* * * * *' },
    ]),
  );
});
afterAll(() => database.close());

test('a run that fails is on record with its error, and fails all the same', async () => {
  const failing = recorded(parts, 'scrape_prices', async () => {
    expect((await runs()).find((run) => run.name === 'scrape_prices')).toMatchObject({
      last_started_at: new Date(NOW),
      last_finished_at: null,
    });
    throw new Error(`broken ${'x'.repeat(1000)}`);
  });
  await expect(failing({})).rejects.toThrow('broken');
  const run = (await runs()).find((row) => row.name === 'scrape_prices');
  expect(run).toMatchObject({ last_finished_at: new Date(NOW), last_duration_ms: expect.any(Number) });
  expect(run?.last_error).toMatch(/^broken x{400,}$/);
  expect(run?.last_error).toHaveLength(500);
});

test('the next run that succeeds takes the error off', async () => {
  await recorded(parts, 'scrape_prices', async () => undefined)({});
  expect((await runs()).find((row) => row.name === 'scrape_prices')).toMatchObject({ last_error: null });
});

test('a job that is no longer scheduled is forgotten, one that stays keeps its record', async () => {
  await database.asSystem((db) => registerJobs(db, [{ name: 'scrape_prices', schedule: '5 3 * * *' }]));
  expect(await runs()).toMatchObject([
    { name: 'scrape_prices', schedule: '5 3 * * *', last_finished_at: new Date(NOW) },
  ]);
});
