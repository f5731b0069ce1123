import type { Command } from 'commander';
import { commandLineOf } from './command.ts';
import { EXIT, type ExitCode, endingOf } from './exit.ts';
import type { Host } from './host.ts';
import { makeOutput } from './output.ts';
import { buildProgram } from './program.ts';

/** One run of the client, from its arguments to its exit code. */
export async function run(argv: string[], host: Host): Promise<ExitCode> {
  const program = buildProgram(host);
  try {
    await program.parseAsync(argv, { from: 'user' });
    return host.signal.aborted ? EXIT.interrupted : EXIT.success;
  } catch (error) {
    const commandLine = commandLineOf(commandMeant(program, argv));
    const { exitCode, stop } = endingOf(error, commandLine, host.signal.aborted);
    if (stop) {
      const out = makeOutput(host, !argv.includes('--no-color'));
      out.complain(stop.message, stop.code, stop.next);
    }
    return exitCode;
  }
}

/** The deepest command the words lead to, for the help that is offered when they are wrong. */
function commandMeant(program: Command, argv: string[]): Command {
  let at = program;
  for (const word of argv) {
    const child = at.commands.find((command) => command.name() === word || command.aliases().includes(word));
    if (child) at = child;
  }
  return at;
}
