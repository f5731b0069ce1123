import { dirname } from 'node:path';
import { CommanderError } from 'commander';
import { ClientFault } from '../client/client.ts';

/** Every way a command can end. */
export const EXIT = { success: 0, failure: 1, interrupted: 130 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/**
 * Ends a command with one sentence for people, a code for machines, and what to do next. Thrown, because
 * between the place that finds out and the end of the program there is nothing left to decide.
 */
export class Stop extends Error {
  override readonly name = 'Stop';
  readonly code: string;
  readonly next: string;

  constructor(code: string, sentence: string, next: string) {
    super(sentence);
    this.code = code;
    this.next = next;
  }
}

/** The command has said all there is to say on stdout, and the answer is no. */
export class Failed extends Error {
  override readonly name = 'Failed';
}

/** Ctrl-C: nothing is wrong and nothing needs saying. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

/** What the user sees of an error, and the exit code it ends with. */
export interface Ending {
  exitCode: ExitCode;
  stop: Stop | null;
}

export function endingOf(error: unknown, commandLine: string, interrupted: boolean): Ending {
  if (interrupted || error instanceof Interrupted) return { exitCode: EXIT.interrupted, stop: null };
  if (error instanceof Failed) return { exitCode: EXIT.failure, stop: null };
  if (error instanceof Stop) return { exitCode: EXIT.failure, stop: error };
  if (error instanceof CommanderError) return usageEnding(error, commandLine);
  if (error instanceof ClientFault) {
    return { exitCode: EXIT.failure, stop: new Stop('unreachable', sentence(error.message), 'gw doctor') };
  }
  return { exitCode: EXIT.failure, stop: unexpected(error) };
}

/** Help and version end the parsing too, and nothing is wrong with them. */
function usageEnding(error: CommanderError, commandLine: string): Ending {
  const isHelp = error.code === 'commander.help' || error.exitCode === 0;
  if (isHelp) return { exitCode: EXIT.success, stop: null };
  const [first = '', suggestion] = error.message.replace(/^error: /, '').split('\n');
  const said = sentence(first) + (suggestion ? ` ${suggestion.replace(/^\((.*)\)$/, '$1')}` : '');
  return { exitCode: EXIT.failure, stop: new Stop('usage', said, `${commandLine} --help`) };
}

function unexpected(error: unknown): Stop {
  const { code, path } = (error ?? {}) as { code?: unknown; path?: unknown };
  const file = typeof path === 'string' ? path : 'the file';
  if (code === 'ENOENT') return new Stop('no_such_file', `There is no file ${file}.`, `ls ${dirname(file)}`);
  if (code === 'EISDIR') {
    return new Stop('not_a_file', 'A directory stands where a file is needed.', 'ls -ld, on what you named');
  }
  if (code === 'EACCES' || code === 'EPERM') {
    return new Stop('not_permitted', `You may not read or write ${file}.`, `ls -l ${file}`);
  }
  const message = error instanceof Error ? error.message : String(error);
  return new Stop('unexpected', sentence(`This should not happen: ${message}`), 'gw doctor');
}

/** Libraries write fragments; people read sentences. */
function sentence(text: string): string {
  const whole = /^https?:/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?)]$/.test(whole) ? whole : `${whole}.`;
}
