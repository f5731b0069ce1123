import { type Command, CommanderError } from 'commander';
import { commandLineOf, isNameOf, unknownCommand } from './command.ts';
import { EXIT, type ExitCode, endingOf } from './exit.ts';
import type { Host } from './host.ts';
import { makeOutput } from './output.ts';
import { addCommands, openProgram } from './program.ts';

/** One run of the client, from its arguments to its exit code. */
export async function run(argv: string[], host: Host): Promise<ExitCode> {
  const program = openProgram(host);
  try {
    await addCommands(program, host, argv);
    await program.parseAsync(argv, { from: 'user' });
    return host.signal.aborted ? EXIT.interrupted : EXIT.success;
  } catch (error) {
    const meant = commandMeant(program, argv);
    const { exitCode, stop } = endingOf(
      withSuggestion(error, meant),
      commandLineOf(meant),
      host.signal.aborted,
    );
    if (stop) {
      const out = makeOutput(host, !argv.includes('--no-color'));
      out.complain(stop.message, stop.code, stop.next);
    }
    return exitCode;
  }
}

/** Commander finds typos, but not words that were left off halfway. */
function withSuggestion(error: unknown, meant: Command): unknown {
  const [word] = meant.args;
  const isUnknown = error instanceof CommanderError && error.code === 'commander.unknownCommand';
  return isUnknown && word !== undefined ? unknownCommand(word, meant) : error;
}

/** The deepest command the words lead to, for the help that is offered when they are wrong. */
function commandMeant(program: Command, argv: string[]): Command {
  let at = program;
  for (const word of argv) {
    const child = at.commands.find((command) => isNameOf(command, word));
    if (child) at = child;
  }
  return at;
}
