// Bundles src/dashboard into dist/dashboard when something it depends on has changed since the last build.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const OUT = join(ROOT, 'dist', 'dashboard');
const STAMP = join(ROOT, 'dist', '.stamp-dashboard');
const SOURCES = ['src/dashboard', 'src/contract', 'src/client'];
const SETTINGS = [
  'package.json',
  'tsconfig.json',
  'scripts/build-dashboard.mjs',
  'scripts/contract-as-data.mjs',
];
/** What a browser loads before log-in or the overview can be used. */
const FIRST_PAGES = ['pages/LogInPage.tsx', 'pages/OverviewPage.tsx'];
const MAX_FIRST_LOAD_BYTES = 150 * 1024;
const MAX_MOVES = 5;
const COMPRESSED = /\.(js|css|svg|json)$/;

try {
  const stamp = stampOfSources();
  if (!existsSync(join(OUT, 'index.html')) || !existsSync(STAMP) || readFileSync(STAMP, 'utf8') !== stamp) {
    await buildInto(stamp);
  }
} catch (fault) {
  console.error(`the dashboard could not be built: ${fault.message}`);
  process.exitCode = 1;
}

/** Built beside the place and moved in whole, so that a server never reads half a dashboard. */
async function buildInto(stamp) {
  if (!existsSync(join(ROOT, 'node_modules', 'vite'))) {
    throw new Error('its build tools are missing; run npm install --include=dev');
  }
  // Whoever starts the build may be a test or a developer; what is built is always what is shipped.
  process.env.NODE_ENV = 'production';
  const { build } = await import('vite');
  const { contractAsData } = await import('./contract-as-data.mjs');
  // Named like the drafts of build.mjs, which clears away those of builds that died.
  const draft = join(ROOT, 'dist', `.build-${process.pid}`);
  try {
    mkdirSync(draft, { recursive: true });
    await build({
      configFile: join(ROOT, 'src', 'dashboard', 'vite.config.ts'),
      logLevel: 'error',
      plugins: [contractAsData()],
      build: { outDir: draft },
    });
    const manifest = JSON.parse(readFileSync(join(draft, '.vite', 'manifest.json'), 'utf8'));
    rmSync(join(draft, '.vite'), { recursive: true });
    compress(draft);
    checkFirstLoad(draft, manifest);
    moveIn(draft);
    writeFileSync(STAMP, stamp);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Another build may put its own in between; the last one stays. */
function moveIn(draft) {
  for (let attempt = 1; ; attempt++) {
    rmSync(OUT, { recursive: true, force: true });
    try {
      return renameSync(draft, OUT);
    } catch (fault) {
      if (fault.code !== 'ENOTEMPTY' || attempt === MAX_MOVES) throw fault;
    }
  }
}

function compress(folder) {
  for (const file of filesUnder(folder).filter((name) => COMPRESSED.test(name))) {
    const content = readFileSync(file);
    writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
    writeFileSync(
      `${file}.br`,
      brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: content.length } }),
    );
  }
}

function checkFirstLoad(folder, manifest) {
  for (const page of FIRST_PAGES) {
    const scripts = new Set();
    for (const entry of ['index.html', page]) collect(manifest, entry, scripts);
    const bytes = [...scripts].reduce(
      (sum, script) => sum + readFileSync(join(folder, `${script}.gz`)).length,
      0,
    );
    console.error(`dashboard: ${page} loads ${(bytes / 1024).toFixed(1)} KB of compressed JavaScript`);
    if (bytes > MAX_FIRST_LOAD_BYTES)
      throw new Error(`${page} loads more than ${MAX_FIRST_LOAD_BYTES / 1024} KB`);
  }
}

function collect(manifest, name, scripts) {
  const chunk = manifest[name];
  if (!chunk) throw new Error(`nothing was built of ${name}`);
  if (scripts.has(chunk.file)) return;
  scripts.add(chunk.file);
  for (const next of chunk.imports ?? []) collect(manifest, next, scripts);
}

function stampOfSources() {
  const hash = createHash('sha256');
  const names = SOURCES.flatMap((folder) =>
    filesUnder(join(ROOT, folder)).map((file) => relative(ROOT, file)),
  );
  for (const name of [...SETTINGS, ...names]) {
    const content = readFileSync(join(ROOT, name));
    hash.update(`${name}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

function filesUnder(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? filesUnder(path) : [path];
    });
}
