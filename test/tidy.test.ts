import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CONFIG_VARIABLES } from '../src/server/config.ts';

/** The house rules that a program can check. Each has been seen to fail; the examples below see to it again. */
const ROOT = join(import.meta.dirname, '..');
const MAX_FILE_LINES = 400;
const MAX_FUNCTION_LINES = 75;

interface Source {
  path: string;
  text: string;
}

function sources(): Source[] {
  const listed = execFileSync(
    'git',
    ['ls-files', '-co', '--exclude-standard', '-z', '--', 'src', 'test', 'bench', 'scripts'],
    {
      cwd: ROOT,
      encoding: 'utf8',
    },
  );
  return listed
    .split('\0')
    .filter((path) => /\.(ts|tsx|mjs)$/.test(path) && existsSync(join(ROOT, path)))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
}

/** The rooms and what each may import; a room may always import itself. */
const ROOMS: Array<{ room: string; may: string[] }> = [
  { room: 'src/contract', may: [] },
  { room: 'src/ledger', may: ['src/contract'] },
  { room: 'src/client', may: ['src/contract'] },
  { room: 'src/cli', may: ['src/contract', 'src/client', 'src/ledger'] },
  { room: 'src/dashboard', may: ['src/contract', 'src/client'] },
  { room: 'src/sdk', may: [] },
  { room: 'src/simulator', may: ['src/contract'] },
  // A program like main.ts: it starts the whole server, and puts a past on record by the server's own ways.
  { room: 'src/demo', may: ['src/contract', 'src/client', 'src/simulator', 'src/server'] },
  { room: 'src/server/domain', may: ['src/contract', 'src/ledger'] },
  { room: 'src/server/store', may: ['src/contract', 'src/ledger', 'src/server/domain'] },
  { room: 'src/server/adapters', may: [] },
  {
    room: 'src/server/api',
    may: [
      'src/contract',
      'src/ledger',
      'src/server/domain',
      'src/server/store',
      'src/server/adapters',
      'src/server/config.ts',
    ],
  },
  {
    room: 'src/server/proxy',
    may: [
      'src/contract',
      'src/ledger',
      'src/server/domain',
      'src/server/store',
      'src/server/adapters',
      'src/server/config.ts',
    ],
  },
  {
    room: 'src/server/jobs',
    may: [
      'src/contract',
      'src/ledger',
      'src/server/domain',
      'src/server/store',
      'src/server/adapters',
      'src/server/config.ts',
    ],
  },
  {
    room: 'src/server/http',
    may: ['src/contract', 'src/server/api', 'src/server/adapters', 'src/server/store'],
  },
];

function importsOf({ path, text }: Source): string[] {
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map((match) =>
    normalize(join(dirname(path), match[1]!)),
  );
}

function wrongImports(source: Source): string[] {
  const home = ROOMS.find(({ room }) => source.path.startsWith(`${room}/`));
  if (!home || source.path.endsWith('.test.ts')) return [];
  return importsOf(source)
    .filter((target) => target.startsWith('src/') && !target.startsWith(`${home.room}/`))
    .filter((target) => !home.may.some((room) => target === room || target.startsWith(`${room}/`)))
    .map((target) => `${source.path} imports ${target}`);
}

/** A statement is prose, however long; it is judged by its reader, not by its lines. */
function withoutSql(text: string): string {
  return text.replaceAll(/sql`(?:[^`$]|\$(?!\{)|\$\{[^}]*\})*`/g, 'sql``');
}

const FUNCTION_START =
  /^(\s*)(?:export\s+)?(?:default\s+)?(?:async\s+)?(?:function\b|(?:(?:readonly|static|async|get|set)\s+)*#?\w+\(.*\)(?::.*)?\s\{$|const \w+ = (?:async )?\(.*=>\s\{$)/;

/** Lines between a function's opening line and the line that closes it at the same indentation. */
function longFunctions({ path, text }: Source): string[] {
  const lines = withoutSql(text).split('\n');
  const found: string[] = [];
  for (const [start, line] of lines.entries()) {
    const opening = FUNCTION_START.exec(line);
    if (!opening || /^\s*(if|for|while|switch|return|describe|test)\b/.test(line)) continue;
    const closing = new RegExp(`^${opening[1]}\\}[,;)]*$`);
    const end = lines.findIndex((candidate, at) => at > start && closing.test(candidate));
    const length = end - start + 1;
    if (length > MAX_FUNCTION_LINES) found.push(`${path}: ${line.trim()} is ${length} lines`);
  }
  return found;
}

const DRAWERS = /(^|\/)(utils?|helpers?|common|shared|misc|lib|stuff)(\.|\/|$)/;
/** Where the program starts, and where a child's environment is made from ours. */
const ENVIRONMENT_READERS = ['src/server/main.ts', 'src/server/adapters/postgres-binaries.ts'];
const MARKS = /\b(TODO|FIXME|XXX)\b|@ts-ignore|\bas any\b|\.(skip|only)\(/;
const SQL_STATEMENT = /\bsql`|\.query\(\s*[`']/;
const CLOCK = /\bDate\.now\(\)|new Date\(\)|performance\.now\(\)|Math\.random\(\)/;

function tidyProblems(source: Source): string[] {
  const { path, text } = source;
  const problems = [...wrongImports(source)];
  const isTest = path.endsWith('.test.ts') || path.startsWith('test/');
  if (text.split('\n').length > MAX_FILE_LINES + 1)
    problems.push(`${path} has more than ${MAX_FILE_LINES} lines`);
  if (!isTest) problems.push(...longFunctions(source));
  if (DRAWERS.test(path)) problems.push(`${path} is a drawer`);
  if (path !== 'test/tidy.test.ts' && MARKS.test(text))
    problems.push(`${path} has a mark left: ${MARKS.exec(text)![0]}`);
  if (
    path.startsWith('src/server/') &&
    !path.startsWith('src/server/store/') &&
    !isTest &&
    SQL_STATEMENT.test(text) &&
    !path.startsWith('src/server/adapters/')
  ) {
    problems.push(`${path} has SQL outside the store`);
  }
  if (path.startsWith('src/server/domain/') && !isTest) {
    if (CLOCK.test(text)) problems.push(`${path} reads the clock or chance`);
    if (/\basync\b|\bawait\b/.test(text)) problems.push(`${path} is asynchronous`);
    if (/from 'node:(?!crypto)/.test(text)) problems.push(`${path} reaches outside`);
  }
  if (/\bprocess\.env\b/.test(text) && /^src\//.test(path) && !ENVIRONMENT_READERS.includes(path))
    problems.push(`${path} reads the environment`);
  if (/from 'fastify'/.test(text) && path.startsWith('src/') && !/^src\/server\/(http\/|app\.ts)/.test(path))
    problems.push(`${path} knows the HTTP framework`);
  return problems;
}

test('every source keeps the house rules', () => {
  expect(sources().flatMap(tidyProblems)).toEqual([]);
});

describe('each rule can fail', () => {
  const example = (path: string, text: string) => tidyProblems({ path, text });
  test.each([
    ['an import against the arrows', 'src/server/api/x.ts', "import { y } from '../proxy/y.ts';"],
    ['a file past its length', 'src/client/x.ts', 'a;\n'.repeat(500)],
    ['a function past its length', 'src/client/x.ts', `function x() {\n${'  a;\n'.repeat(100)}}\n`],
    ['a drawer', 'src/server/store/utils.ts', ''],
    ['a mark left behind', 'src/client/x.ts', '// TODO: later'],
    ['a cast to any', 'src/client/x.ts', 'const x = y as any;'],
    ['a test that is skipped', 'test/x.test.ts', "test.skip('x', () => {});"],
    ['SQL outside the store', 'src/server/api/x.ts', 'db.query(sql`select 1`)'],
    ['a clock in the domain', 'src/server/domain/x.ts', 'const now = Date.now();'],
    ['asynchronous domain code', 'src/server/domain/x.ts', 'export async function x() {}'],
    ['I/O in the domain', 'src/server/domain/x.ts', "import fs from 'node:fs';"],
    ['the environment read elsewhere', 'src/server/api/x.ts', 'process.env.HOME'],
    ['the framework known elsewhere', 'src/server/api/x.ts', "import Fastify from 'fastify';"],
  ])('%s', (_name, path, text) => {
    expect(example(path, text)).toHaveLength(1);
  });
  test('and an honest file has no problem', () => {
    expect(
      example(
        'src/server/api/x.ts',
        "import { y } from '../store/y.ts';\nexport function x() {\n  return y;\n}\n",
      ),
    ).toEqual([]);
  });
});

/** Paths in the documents that explain the house must exist. */
test.each(['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md'])('every path %s names is there', (document) => {
  const text = readFileSync(join(ROOT, document), 'utf8');
  const named = [...text.matchAll(/`((?:src|test|migrations|scripts|bench|docs)\/[\w./-]*)`/g)].map(
    (match) => match[1]!,
  );
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test('the README tells of every variable what the program knows of it', () => {
  const text = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const rows = CONFIG_VARIABLES.map(
    ({ name, default: value, meaning }) =>
      `| \`${name}\` | ${value === null ? '—' : `\`${value}\``} | ${meaning} |`,
  );
  expect(rows.filter((row) => !text.includes(row))).toEqual([]);
});
