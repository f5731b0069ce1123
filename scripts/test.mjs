// Every suite: types, lint and format first, then all tests. Ends in one line that counts them.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

function run(script, args) {
  const bin = join(ROOT, 'node_modules', ...script);
  return spawnSync(process.execPath, [bin, ...args], { cwd: ROOT, stdio: 'inherit' }).status ?? 1;
}

const checks = [
  ['types', run(['typescript', 'bin', 'tsc'], ['--noEmit'])],
  ['types of the dashboard', run(['typescript', 'bin', 'tsc'], ['-p', 'src/dashboard'])],
  ['types of the browser tests', run(['typescript', 'bin', 'tsc'], ['-p', 'test/e2e'])],
  ['lint and format', run(['@biomejs', 'biome', 'bin', 'biome'], ['check', '.'])],
];
const broken = checks.filter(([, status]) => status !== 0).map(([name]) => name);

const folder = mkdtempSync(join(tmpdir(), 'gateway-results-'));
const results = join(folder, 'results.json');
const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${results}`];
const status = run(['vitest', 'vitest.mjs'], ['run', ...reporters, ...process.argv.slice(2)]);
const { numPassedTests, numFailedTests, numFailedTestSuites, testResults } = JSON.parse(
  readFileSync(results, 'utf8'),
);
rmSync(folder, { recursive: true });

// A file that could not even be loaded has no tests to fail, and must not pass for that.
const unloaded = testResults.filter(
  ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
);
const failed = numFailedTests + unloaded.length + broken.length;
for (const name of broken) console.log(`failed: ${name}`);
if (failed === 0 && (status !== 0 || numFailedTestSuites > 0))
  console.log(`failed: the test runner ended with ${status}`);
console.log(`${numPassedTests} passed, ${Math.max(failed, status === 0 ? 0 : 1)} failed`);
process.exit(failed === 0 && status === 0 ? 0 : 1);
