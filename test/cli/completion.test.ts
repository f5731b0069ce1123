import { execFileSync, spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildClient, type Cli, makeCli } from './gw.ts';

const AWAY = { apiUrl: 'http://127.0.0.1:9', proxyUrl: 'http://127.0.0.1:9' };
const isThere = (shell: string) => spawnSync(shell, ['-c', 'exit 0']).status === 0;

/** What is typed, and what the shell offers for its last word. */
const LINES: Array<[line: string[], offered: string[]]> = [
  [['gw', 'ke'], ['keys']],
  [
    ['gw', 'wh', 'd'],
    ['delete', 'deliveries'],
  ],
  [['gw', '--json', 'budgets', 'set', '--mo'], ['--mode']],
  [
    ['gw', 'budgets', 'create', '--mode', ''],
    ['approval', 'hard', 'soft'],
  ],
  // What a group takes by itself.
  [['gw', 'requests', '--li'], ['--limit']],
  [
    ['gw', 'kill', '--scope', 'a'],
    ['agent', 'all', 'api_key'],
  ],
  [
    ['gw', 'completion', ''],
    ['bash', 'fish', 'zsh'],
  ],
  [['gw', 'ledger', 'verify', '--fi'], ['--file']],
  [['gw', 'cost', '--he'], ['--help']],
];

let cli: Cli;
beforeAll(() => {
  buildClient();
  cli = makeCli(AWAY);
});
afterAll(() => cli.remove());

const quoted = (words: string[]) => words.map((word) => `'${word}'`).join(' ');
const linesOf = (text: string) => text.split('\n').filter((line) => line !== '');

async function inBash(words: string[]): Promise<string[]> {
  const script = await cli.print('completion', 'bash');
  const asked = `COMP_WORDS=(${quoted(words)}); COMP_CWORD=${words.length - 1}; _gw; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return linesOf(execFileSync('bash', ['--norc', '-c', `${script}\n${asked}`], { encoding: 'utf8' }));
}

/** zsh completes only where somebody types; here its own functions hand over what they were given. */
async function inZsh(words: string[]): Promise<string[]> {
  const script = await cli.print('completion', 'zsh');
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is zsh that fills this in
  const before = 'compdef() { :; }; _files() { :; }; _describe() { print -rl -- "${(@P)2%%:*}"; };';
  const asked = `words=(${quoted(words)}); CURRENT=${words.length}; _gw`;
  const offered = linesOf(
    execFileSync('zsh', ['-f', '-c', `${before}\n${script}\n${asked}`], { encoding: 'utf8' }),
  );
  return offered.filter((word) => word.startsWith(words.at(-1)!));
}

async function inFish(words: string[]): Promise<string[]> {
  const script = await cli.print('completion', 'fish');
  const asked = `complete -C '${words.join(' ')}'`;
  const offered = execFileSync('fish', ['--no-config', '-c', `${script}\n${asked}`], { encoding: 'utf8' });
  return linesOf(offered).map((line) => line.split('\t')[0]!);
}

describe.each([
  ['bash', inBash],
  ['zsh', inZsh],
  ['fish', inFish],
])('%s', (shell, offer) => {
  test.runIf(isThere(shell)).each(LINES)('completes %j', async (words, offered) => {
    const said = await offer(words);
    // An argument's place takes flags as well.
    expect(said.filter((word) => words.at(-1) !== '' || !word.startsWith('--')).sort()).toEqual(offered);
  });

  test('gets a script of its own', async () => {
    expect(await cli.print('completion', shell)).toContain(`${shell} completion for gw. Load it with: `);
  });
});

test('other shells are told which there are', async () => {
  expect(await cli.run(['completion', 'tcsh'])).toEqual({
    code: 1,
    stdout: '',
    stderr:
      "error: Command-argument value 'tcsh' is invalid for argument 'shell'. Allowed choices are bash, zsh, fish. (usage)\n" +
      'Try: gw completion --help\n',
  });
});
