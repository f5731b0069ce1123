import { describe, expect, test } from 'vitest';
import type { Host } from '../../src/cli/host.ts';
import { addCommands, openProgram } from '../../src/cli/program.ts';
import { widthOf } from '../../src/cli/text.ts';
import { openTerminal } from './terminal.ts';

const COLUMNS = 80;
const host: Host = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  homeDir: null,
  version: '1.2.3',
  nowMs: Date.now,
  signal: new AbortController().signal,
};
type Program = ReturnType<typeof openProgram>;

async function programFor(...argv: string[]): Promise<Program> {
  const program = openProgram(host);
  await addCommands(program, host, argv);
  return program;
}

const whole = await programFor();
const namesOf = (command: Program) => [command.name(), ...command.aliases()];
const linesOf = (command: Program, line: string): string[] => [
  line,
  ...command.commands.flatMap((child) => linesOf(child, `${line} ${child.name()}`)),
];

async function helpOf(line: string, ...flags: string[]): Promise<string> {
  const terminal = openTerminal({ columns: COLUMNS });
  expect(await terminal.run(...line.split(' ').slice(1), '--help', ...flags)).toBe(0);
  expect(terminal.stderr()).toBe('');
  return terminal.stdout();
}

describe('help', () => {
  test.each(linesOf(whole, 'gw'))('of %s has examples', async (line) => {
    expect(await helpOf(line, '--no-color')).toMatch(/\nExamples:\n {2}\$ \S/);
  });

  test('lists every command on one line of 80 cells', async () => {
    const help = await helpOf('gw', '--no-color');
    expect(help.split('\n').filter((line) => widthOf(line) > COLUMNS)).toEqual([]);
    for (const command of whole.commands) {
      expect(help).toMatch(new RegExp(`\n {2}${command.name()}\\b.* ${command.summary()}\n`));
    }
  });

  test('names every other name of a command', async () => {
    expect(await helpOf('gw budgets rm', '--no-color')).toContain(
      '\nAlso: gw budgets rm, gw budgets remove\n',
    );
  });

  test('has bold titles on a terminal, unless told not to', async () => {
    expect((await helpOf('gw keys')).startsWith('\u001b[1mUsage:\u001b[22m gw keys ')).toBe(true);
    expect((await helpOf('gw keys', '--no-color')).startsWith('Usage: gw keys ')).toBe(true);
  });
});

describe('only what is asked for is loaded', () => {
  test.each(whole.commands.flatMap(namesOf))('gw %s is one command, known by this name', async (name) => {
    if (name === 'completion') return;
    const { commands } = await programFor(name, 'something', '--json');
    expect(commands.map((command) => namesOf(command).includes(name))).toEqual([true]);
  });

  test('and all of them where all are spoken of', async () => {
    for (const argv of [[], ['help'], ['completion'], ['kyes'], ['--json']]) {
      expect((await programFor(...argv)).commands).toHaveLength(whole.commands.length);
    }
  });

  test('whatever stands before the command', async () => {
    const { commands } = await programFor('--api-url', 'keys', '--json', 'budgets', 'list');
    expect(commands.map((command) => command.name())).toEqual(['budgets']);
  });
});
