import { Command } from 'commander';
import { Failed, Stop } from './exit.ts';
import type { Host } from './host.ts';
import { keepLogin } from './keep-login.ts';
import { type GlobalFlags, openSession, type Session } from './session.ts';

/** A command of the tree as its file describes it. */
export interface CommandText {
  /** With its arguments, as in `revoke <id>`. */
  usage: string;
  summary: string;
  examples: string[];
  aliases?: string[];
}

export function describeCommand(text: CommandText): Command {
  const [name, ...args] = text.usage.split(' ');
  const command = new Command(name).description(text.summary).aliases(text.aliases ?? []);
  for (const argument of args) command.argument(argument);
  command.addHelpText('after', `\nExamples:\n${text.examples.map((line) => `  $ ${line}`).join('\n')}`);
  return command;
}

type Run<Options> = (session: Session, options: Options, args: string[]) => Promise<void>;

/** Ties a command to what it does: options parsed, then run. */
export function runs<Options>(host: Host, command: Command, run: Run<Options>): Command {
  return command.action(async (...given: unknown[]) => {
    const args = given.slice(0, -2) as string[];
    const typed = [commandLineOf(command), ...args.filter((word) => word !== undefined)].join(' ');
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

/** A group that does something by itself: what its default command does. */
export function defaultsTo(group: Command, child: Command): Command {
  // Excess arguments are words that should have been a command; commander would only count them.
  child.allowExcessArguments(true).hook('preAction', () => {
    const [word] = child.args;
    if (word === undefined) return;
    const near = nearest(
      word,
      group.commands.map((command) => command.name()),
    );
    const hint = near === null ? '' : ` Did you mean ${near}?`;
    throw new Stop('usage', `Unknown command '${word}'.${hint}`, `${commandLineOf(group)} --help`);
  });
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
  return [`Options of ${commandLine} by itself:`, ...lines].join('\n');
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
