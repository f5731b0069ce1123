// Compiles src/ into dist/ when something it depends on has changed since the last build.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const DIST = join(ROOT, 'dist');
const STAMP = join(DIST, '.stamp');
const MAX_BUILDS = 3;

/** Builds only what differs from its last build; answers whether the programs had to be built. */
export function buildIfStale() {
  buildDashboard();
  return buildPrograms();
}

/** In a process of its own: a server does without a dashboard, and without the memory its build takes. */
function buildDashboard() {
  const script = join(ROOT, 'scripts', 'build-dashboard.mjs');
  if (existsSync(script)) spawnSync(process.execPath, [script], { cwd: ROOT, stdio: ['ignore', 2, 2] });
}

function buildPrograms() {
  if (readStamp() === stampOfSources()) return false;
  // Sources saved while the compiler ran would be stamped as built although they were not.
  for (let build = 0; build < MAX_BUILDS; build++) {
    const stamp = stampOfSources();
    compile();
    if (stamp !== stampOfSources()) continue;
    const draft = `${STAMP}.${process.pid}`;
    writeFileSync(draft, stamp);
    renameSync(draft, STAMP);
    return true;
  }
  throw new Error('the sources keep changing while they are built');
}

function readStamp() {
  return existsSync(STAMP) && existsSync(join(DIST, 'server', 'main.js'))
    ? readFileSync(STAMP, 'utf8')
    : null;
}

function stampOfSources() {
  const compiler = join('node_modules', 'typescript', 'package.json');
  if (!existsSync(join(ROOT, compiler))) throw new Error('its dependencies are missing; run npm install');
  const settings = ['package.json', 'tsconfig.json', 'tsconfig.build.json', compiler];
  const sources = filesUnder(join(ROOT, 'src'))
    .map((file) => relative(ROOT, file))
    .filter((name) => !name.startsWith(join('src', 'dashboard')));
  const hash = createHash('sha256');
  for (const name of [...settings, ...sources]) {
    const content = readFileSync(join(ROOT, name));
    hash.update(`${name}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

/**
 * Two builds may run at once, and a server may be reading dist/ meanwhile: each compiles into a folder of its
 * own and moves the files over one by one, so that every file is at all times whole, the old or the new one.
 */
function compile() {
  removeDeadDrafts();
  const draft = join(DIST, `.build-${process.pid}`);
  mkdirSync(draft, { recursive: true });
  try {
    const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    // Types are `npm run check`'s business: they need the development packages, which a server may do without.
    const quick = ['--noCheck', '--types', ''];
    const args = [compiler, '-p', join(ROOT, 'tsconfig.build.json'), '--outDir', draft, ...quick];
    const { status, signal, error } = spawnSync(process.execPath, args, {
      cwd: ROOT,
      stdio: ['ignore', 2, 2],
    });
    if (status !== 0)
      throw new Error(`the compiler failed (${error?.message ?? signal ?? `exit ${status}`})`);
    rmSync(STAMP, { force: true });
    moveOver(draft);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function moveOver(draft) {
  const built = new Set(filesUnder(draft).map((file) => relative(draft, file)));
  for (const name of built) {
    mkdirSync(dirname(join(DIST, name)), { recursive: true });
    renameSync(join(draft, name), join(DIST, name));
  }
  // What a deleted source once became must go; folders that the compiler does not fill belong to other builds.
  const folders = new Set([...built].map((name) => name.split('/')[0]));
  for (const folder of folders) {
    for (const file of filesUnder(join(DIST, folder))) {
      if (!built.has(relative(DIST, file))) rmSync(file, { force: true });
    }
  }
}

function removeDeadDrafts() {
  for (const name of existsSync(DIST) ? readdirSync(DIST) : []) {
    const pid = Number(/^\.build-(\d+)$/.exec(name)?.[1] ?? 0);
    if (pid > 0 && !isAlive(pid)) rmSync(join(DIST, name), { recursive: true, force: true });
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (fault) {
    return fault.code === 'EPERM';
  }
}

function filesUnder(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? filesUnder(path) : [path];
    });
}

if (process.argv[1] && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
  try {
    console.error(buildIfStale() ? 'built dist/' : 'dist/ is up to date');
  } catch (fault) {
    console.error(`build: ${fault.message}`);
    process.exitCode = 1;
  }
}
