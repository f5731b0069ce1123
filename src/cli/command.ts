import { Command } from 'commander';
import { HELP_COLOURS } from './colours.ts';
import { Failed, Stop } from './exit.ts';
import type { Host } from './host.ts';
import type { GlobalFlags, Session } from './session.ts';
import { showable } from './text.ts';

/** A command of the tree as its file describes it. */
export interface CommandText {
  /** With its arguments, as in `revoke <id>`. */
  usage: string;
  /** One line, short enough for a list of commands. */
  summary: string;
  /** What else there is to know, for the command's own help. */
  detail?: string;
  examples: string[];
  aliases?: string[];
}

export function describeCommand(text: CommandText): Command {
  const [name, ...args] = text.usage.split(' ');
  const aliases = text.aliases ?? [];
  const command = new Command(name)
    .summary(text.summary)
    .description(text.detail === undefined ? text.summary : `${text.summary}. ${text.detail}`)
    .aliases(aliases);
  for (const argument of args) command.argument(argument);
  command.addHelpText('after', ({ command: shown }) => {
    const group = commandLineOf(shown).split(' ').slice(0, -1).join(' ');
    const others = aliases.map((alias) => `${group} ${alias}`).join(', ');
    const examples = `${HELP_COLOURS.bold('Examples:')}\n${text.examples.map((line) => `  $ ${line}`).join('\n')}`;
    return `\n${others === '' ? '' : `${HELP_COLOURS.bold('Also:')} ${others}\n\n`}${examples}`;
  });
  return command;
}

type Run<Options> = (session: Session, options: Options, args: string[]) => Promise<void>;

/** Ties a command to what it does: options parsed, then run. */
export function runs<Options>(host: Host, command: Command, run: Run<Options>): Command {
  return command.action(async (...given: unknown[]) => {
    const args = given.slice(0, -2) as string[];
    const typed = [commandLineOf(command), ...args.filter((word) => word !== undefined)].join(' ');
    // Help, completion and version go without a session, and without the time it takes to load what it is made of.
    const { openSession } = await import('./session.ts');
    const { keepLogin } = await import('./keep-login.ts');
    const session = openSession(host, command.optsWithGlobals<GlobalFlags>(), typed);
    await run(session, command.opts() as Options, args);
    await keepLogin(session);
  });
}

/** As one would type it: `gw keys revoke`. */
export function commandLineOf(command: Command): string {
  const names: string[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) names.unshift(at.name());
  return names.join(' ');
}

/** Before something is taken away for good: a person says yes, or the flag does. */
export async function confirmed(session: Session, question: string, yes: boolean | undefined): Promise<void> {
  if (yes === true) return;
  const { host } = session;
  if (!host.stdin.isTTY) {
    throw new Stop(
      'confirmation_required',
      'Nothing was done: without a terminal to ask on, this needs --yes.',
      `${session.typed} --yes`,
    );
  }
  if (await session.prompts.confirm(question)) return;
  session.out.note('Nothing was done.');
  throw new Failed();
}

export const YES_FLAG = ['-y, --yes', 'do not ask'] as const;

const defaults = new WeakMap<Command, Command>();

/** What a group does by itself, if it does anything. */
export function defaultOf(group: Command): Command | undefined {
  return defaults.get(group);
}

/** A group that does something by itself: what its default command does. */
export function defaultsTo(group: Command, child: Command): Command {
  defaults.set(group, child);
  // Words left over should have been a command; commander would ask for the default's flags or only count them.
  const refuseWord = (word: string | undefined) => {
    if (word !== undefined && !word.startsWith('-')) throw unknownCommand(word, group);
  };
  group.hook('preSubcommand', (_group, next) => {
    if (next === child && !isNameOf(child, group.args[0])) refuseWord(group.args[0]);
  });
  child.allowExcessArguments(true).hook('preAction', () => refuseWord(child.args[0]));
  group.addHelpText('after', () => `\n${optionsOf(child, commandLineOf(group))}`);
  return group.addCommand(child, { isDefault: true });
}

/** What the group takes by itself, which commander shows only in the help of the command that takes it. */
function optionsOf(child: Command, commandLine: string): string {
  const help = child.createHelp();
  const options = help.visibleOptions(child).filter((option) => option.long !== '--help');
  const width = Math.max(0, ...options.map((option) => help.optionTerm(option).length));
  const lines = options.map(
    (option) => `  ${help.optionTerm(option).padEnd(width)}  ${help.optionDescription(option)}`,
  );
  return [HELP_COLOURS.bold(`Options of ${commandLine} by itself:`), ...lines].join('\n');
}

export function isNameOf(command: Command, word: string | undefined): boolean {
  return command.name() === word || command.aliases().includes(word ?? '');
}

/** With what was probably meant: the rest of the word, or a word like it. */
export function unknownCommand(word: string, group: Command): Stop {
  const names = group.commands.map((command) => command.name());
  const near = names.find((name) => name.startsWith(word)) ?? nearest(word, names);
  const hint = near === null ? '' : ` Did you mean ${near}?`;
  return new Stop('usage', `Unknown command '${showable(word)}'.${hint}`, `${commandLineOf(group)} --help`);
}

/** A typo is at most this share of the word away from what was meant. */
const MAX_TYPO_SHARE = 0.4;

function nearest(word: string, names: string[]): string | null {
  const ranked = names
    .map((name) => ({ name, distance: editsBetween(word, name) }))
    .sort((a, b) => a.distance - b.distance);
  const best = ranked[0];
  return best && best.distance <= Math.ceil(word.length * MAX_TYPO_SHARE) ? best.name : null;
}

/** Letters to insert, delete or replace to get from one word to the other. */
function editsBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...from].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...to].entries()) {
      next.push(Math.min(next[j]! + 1, row[j + 1]! + 1, row[j]! + (letter === other ? 0 : 1)));
    }
    row = next;
  }
  return row[to.length]!;
}
