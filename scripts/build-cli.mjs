// Bundles the command-line client into one file, dist/gw.cjs; with --pack also into a tarball for `npm i -g`.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { contractAsData } from './contract-as-data.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const BUNDLE = join(ROOT, 'dist', 'gw.cjs');
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

/** The client reads no environment variable, and neither may what it is made of. */
const withoutEnvironment = {
  name: 'without-environment',
  transform: (code) => (code.includes('process.env') ? code.replaceAll('process.env', '({})') : null),
};

/** Node's own modules are loaded with the first module of ours that needs them, not all of them at every start. */
const LAZY = '\0lazy:';
const builtinsWhenNeeded = {
  name: 'builtins-when-needed',
  resolveId(id, importer) {
    if (!isBuiltin(id)) return null;
    return importer?.startsWith(LAZY) ? { id, external: true } : LAZY + id;
  },
  load(id) {
    if (!id.startsWith(LAZY)) return null;
    const name = id.slice(LAZY.length);
    // Commander would start commands that are programs of their own; none of ours is.
    if (name === 'node:child_process') return 'module.exports = {};';
    return `module.exports = require(${JSON.stringify(name)});`;
  },
};

/**
 * CommonJS, because Node is a tenth of its whole start quicker without its loader of other modules. What is imported
 * dynamically stays asleep in the same file until it is asked for.
 */
async function bundle() {
  const build = await rolldown({
    input: join(ROOT, 'src', 'cli', 'main.ts'),
    platform: 'node',
    transform: { target: 'node20', define: { GW_VERSION: JSON.stringify(version) } },
    plugins: [contractAsData(), withoutEnvironment, builtinsWhenNeeded],
    // Parentheses around a module would make V8 compile it at once, whether it is asked for or not.
    optimization: { pifeForModuleWrappers: false },
    logLevel: 'warn',
  });
  mkdirSync(dirname(BUNDLE), { recursive: true });
  // Tests and people may run the old bundle while the new one is written.
  const draft = `${BUNDLE}.${process.pid}`;
  try {
    await build.write({
      file: draft,
      format: 'cjs',
      codeSplitting: false,
      banner: '#!/usr/bin/env node',
      minify: true,
    });
    chmodSync(draft, 0o755);
    renameSync(draft, BUNDLE);
  } finally {
    rmSync(draft, { force: true });
    await build.close();
  }
}

/** Everything is inside the bundle, so the package has no dependencies and installs without a network. */
function pack(directory) {
  const stage = mkdtempSync(join(tmpdir(), 'gw-pack-'));
  try {
    const template = JSON.parse(readFileSync(join(ROOT, 'cli', 'package.json'), 'utf8'));
    writeFileSync(join(stage, 'package.json'), `${JSON.stringify({ ...template, version }, null, 2)}\n`);
    copyFileSync(join(ROOT, 'cli', 'README.md'), join(stage, 'README.md'));
    copyFileSync(BUNDLE, join(stage, 'gw.cjs'));
    mkdirSync(directory, { recursive: true });
    const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', directory], {
      cwd: stage,
      encoding: 'utf8',
    });
    return join(directory, packed.trim().split('\n').at(-1));
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

await bundle();
const flag = process.argv.indexOf('--pack');
console.log(flag === -1 ? BUNDLE : pack(resolve(process.argv[flag + 1] ?? join(ROOT, 'dist'))));
