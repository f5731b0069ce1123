import { connect, createServer, type Server, type Socket } from 'node:net';
import sql from 'sql-template-tag';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '../../src/server/adapters/log.ts';
import type { Mail } from '../../src/server/adapters/mailer.ts';
import { openOutbound } from '../../src/server/adapters/outbound.ts';
import { openVault } from '../../src/server/adapters/vault.ts';
import { startJobs } from '../../src/server/jobs/runner.ts';
import type { JobParts } from '../../src/server/jobs/task.ts';
import { type Database, openDatabase } from '../../src/server/store/database.ts';
import { addSealedJob, migrateJobQueue } from '../../src/server/store/jobs.ts';
import { eventually, makeDatabase } from '../harness.ts';

/** Stands between the jobs and PostgreSQL, and can be cut. */
interface Line {
  url: string;
  open(): Promise<void>;
  /** As when the server's machine disappears: connections reset, new ones refused. */
  cut(): Promise<void>;
}

let databaseUrl: string;
let database: Database;
let line: Line;
let sent: Mail[];
let parts: JobParts;
let running: { stop(): Promise<void> } | null;

beforeEach(async () => {
  databaseUrl = await makeDatabase();
  database = openDatabase({ url: databaseUrl, name: 'test', connections: 3, onIdleError: () => undefined });
  line = await layLine(databaseUrl);
  sent = [];
  running = null;
  parts = {
    databaseUrl: line.url,
    database,
    vault: openVault(Buffer.alloc(32, 1)),
    mailer: { send: async (mail) => void sent.push(mail), close: () => undefined },
    outbound: openOutbound({ allowPrivate: false }),
    webhookRetryDelaysSeconds: [0],
    dashboardUrl: 'http://127.0.0.1',
    ledgerSecret: 'l'.repeat(32),
    priceSources: [],
    retentionDays: 0,
    nowMs: Date.now,
    log: createLogger('silent'),
  };
});
afterEach(async () => {
  await running?.stop();
  await line.cut();
  await database.close();
});

const mailTo = (to: string): Mail => ({ to, subject: 's', text: 't', html: 'h' });
const queueMail = (to: string, holdsUntilMs = Date.now() + 60_000, runAt = new Date()) =>
  database.asSystem((db) =>
    addSealedJob(db, parts.vault, 'send_mail', { mail: mailTo(to), holdsUntilMs }, { runAt }),
  );
const sentTo = (to: string) => eventually(async () => expect(sent.map((mail) => mail.to)).toContain(to));
const queued = () =>
  database.asSystem(async (db) => {
    // The queue's tables are its owner's; the test's own role owns them.
    const rows = await db.query<{ count: number }>(sql`select count(*) from graphile_worker._private_jobs`);
    return rows[0]!.count;
  });

describe('jobs', () => {
  it('run when their transaction commits, and never were when it is undone', async () => {
    await line.open();
    running = await startJobs(parts);
    await expect(
      database.asSystem(async (db) => {
        const job = { mail: mailTo('undone'), holdsUntilMs: Date.now() + 60_000 };
        await addSealedJob(db, parts.vault, 'send_mail', job);
        throw new Error('changed my mind');
      }),
    ).rejects.toThrow('changed my mind');
    await queueMail('done');
    await sentTo('done');
    expect(sent.map((mail) => mail.to)).toEqual(['done']);
    await eventually(async () => expect(await queued()).toBe(0));
  });

  it('that the transaction of a tenant adds run too', async () => {
    await line.open();
    running = await startJobs(parts);
    await database.asTenant('018f0000-0000-7000-8000-000000000001', (db) =>
      addSealedJob(db, parts.vault, 'send_mail', {
        mail: mailTo('tenant'),
        holdsUntilMs: Date.now() + 60_000,
      }),
    );
    await sentTo('tenant');
  });

  it('start when a database that was away at the start comes', async () => {
    running = await startJobs(parts);
    await queueMail('early');
    await line.open();
    await sentTo('early');
  });

  it('go on after the database has been away, and lose nothing that was queued', async () => {
    await line.open();
    running = await startJobs(parts);
    await queueMail('before');
    await sentTo('before');
    await line.cut();
    await queueMail('meanwhile');
    await line.open();
    await queueMail('after');
    await sentTo('meanwhile');
    await sentTo('after');
  });

  it.each([
    ['succeed', async () => undefined],
    ['fail', async () => Promise.reject(new Error('no'))],
  ])('that %s while the database goes away are run again, and take nothing along', async (_how, end) => {
    await line.open();
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', note);
    let runs = 0;
    parts.mailer.send = async () => {
      runs += 1;
      if (runs > 1) return;
      await line.cut();
      await end();
    };
    running = await startJobs(parts);
    await queueMail('twice');
    await eventually(async () => expect(runs).toBe(1));
    await line.open();
    await eventually(async () => {
      // As if the time had passed after which its lock is known to be nobody's.
      await database.asSystem((db) =>
        db.query(sql`
          update graphile_worker._private_jobs set locked_at = now() - interval '1 minute'
           where locked_at is not null`),
      );
      expect(runs).toBe(2);
    });
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
  });

  it('stop at once while the database is away, and never took the process along', async () => {
    await line.open();
    running = await startJobs(parts);
    await line.cut();
    const startedAtMs = Date.now();
    await running.stop();
    running = null;
    expect(Date.now() - startedAtMs).toBeLessThan(12_000);
  });

  it('let a job that runs at the stop come to its end', async () => {
    await line.open();
    let finish = () => {};
    let isRunning = false;
    parts.mailer.send = (mail) =>
      new Promise((resolve) => {
        isRunning = true;
        finish = () => {
          sent.push(mail);
          resolve();
        };
      });
    running = await startJobs(parts);
    await queueMail('slow');
    await eventually(async () => expect(isRunning).toBe(true));
    const stopped = running.stop();
    running = null;
    finish();
    await stopped;
    expect(sent.map((mail) => mail.to)).toEqual(['slow']);
    expect(await queued()).toBe(0);
  });

  it('stop in bounded time even when one of them never ends, and it is run again', async () => {
    await line.open();
    let isRunning = false;
    parts.mailer.send = () => {
      isRunning = true;
      return new Promise<void>(() => undefined);
    };
    running = await startJobs(parts);
    await queueMail('endless');
    await eventually(async () => expect(isRunning).toBe(true));
    const startedAtMs = Date.now();
    await running.stop();
    expect(Date.now() - startedAtMs).toBeLessThan(10_000);
    await database.asSystem((db) =>
      db.query(sql`update graphile_worker._private_jobs set locked_at = now() - interval '1 minute'`),
    );
    parts.mailer.send = async (mail) => void sent.push(mail);
    running = await startJobs(parts);
    await sentTo('endless');
  });

  it('do not send a mail whose time is over', async () => {
    await line.open();
    running = await startJobs(parts);
    await queueMail('late', Date.now() - 1);
    await eventually(async () => expect(await queued()).toBe(0));
    expect(sent).toEqual([]);
  });

  it('on two nodes run once each', async () => {
    await line.open();
    running = await startJobs(parts);
    const other = await startJobs(parts);
    try {
      for (let number = 0; number < 20; number++) await queueMail(`mail-${number}`);
      await eventually(async () => expect(await queued()).toBe(0));
      expect(sent.map((mail) => mail.to).sort()).toEqual(
        Array.from({ length: 20 }, (_, number) => `mail-${number}`).sort(),
      );
    } finally {
      await other.stop();
    }
  });
});

describe('jobs of a node that was killed', () => {
  const lockAs = (workerId: string) =>
    database.asSystem((db) =>
      db.query(sql`
        update graphile_worker._private_jobs
           set locked_by = ${workerId}, locked_at = now() - interval '1 minute'`),
    );

  it('are run by another', async () => {
    await line.open();
    await queueMail('orphan');
    await lockAs('a worker that is no more');
    running = await startJobs(parts);
    await sentTo('orphan');
  });

  it('are told from those of a node that is only slow', async () => {
    await line.open();
    const started: string[] = [];
    let finish = () => {};
    const slow = new Promise<void>((resolve) => {
      finish = resolve;
    });
    parts.mailer.send = async (mail) => {
      started.push(mail.to);
      if (mail.to === 'slow') await slow;
    };
    running = await startJobs(parts);
    await queueMail('slow');
    await eventually(async () => expect(started).toEqual(['slow']));
    await database.asSystem((db) =>
      db.query(sql`update graphile_worker._private_jobs set locked_at = now() - interval '1 minute'`),
    );
    await queueMail('orphan', Date.now() + 60_000, new Date(Date.now() + 3_600_000));
    await database.asSystem((db) =>
      db.query(sql`
        update graphile_worker._private_jobs
           set locked_by = 'a worker that is no more', locked_at = now() - interval '1 minute', run_at = now()
         where locked_by is null`),
    );
    const other = await startJobs(parts);
    // The orphan's turn shows that the other node has looked for the dead.
    await eventually(async () => expect(started).toContain('orphan'));
    expect(started.filter((to) => to === 'slow')).toHaveLength(1);
    finish();
    await other.stop();
  });
});

describe('a job that was given up', () => {
  it('is shown for thirty days and then cleared away', async () => {
    await line.open();
    for (const days of [29, 31]) {
      await queueMail(`${days} days ago`);
      await database.asSystem((db) =>
        db.query(sql`
          update graphile_worker._private_jobs
             set attempts = max_attempts, last_error = ${`${days}`}, updated_at = now() - make_interval(days => ${days})
           where last_error is null`),
      );
    }
    running = await startJobs(parts);
    await eventually(async () => expect(await queued()).toBe(1));
    const left = await database.asSystem((db) =>
      db.query<{ last_error: string }>(sql`select last_error from graphile_worker._private_jobs`),
    );
    expect(left).toEqual([{ last_error: '29' }]);
    expect(sent).toEqual([]);
  });
});

describe('the job queue', () => {
  it('is prepared by several nodes at once', async () => {
    await Promise.all(Array.from({ length: 5 }, () => migrateJobQueue(databaseUrl)));
    await queueMail('x');
    expect(await queued()).toBe(1);
  });
});

async function layLine(directUrl: string): Promise<Line> {
  const target = new URL(directUrl);
  const sockets = new Set<Socket>();
  const port = await freePort();
  let server: Server | null = null;
  const url = new URL(directUrl);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return {
    url: url.href,
    open: () => {
      server = createServer((near) => {
        const far = connect(Number(target.port), target.hostname);
        for (const [from, to] of [
          [near, far],
          [far, near],
        ] as const) {
          sockets.add(from);
          from.pipe(to);
          from.on('error', () => to.destroy());
          from.on('close', () => sockets.delete(from));
        }
      });
      return new Promise((resolve) => server!.listen(port, '127.0.0.1', () => resolve()));
    },
    cut: async () => {
      for (const socket of sockets) socket.resetAndDestroy();
      const closing = server;
      server = null;
      if (closing) await new Promise((resolve) => closing.close(resolve));
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
