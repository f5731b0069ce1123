import { PassThrough, Writable } from 'node:stream';
import type { Host } from '../../src/cli/host.ts';
import { run } from '../../src/cli/run.ts';
import { eventually } from '../harness.ts';

export interface TerminalOptions {
  columns?: number;
  nowMs?: () => number;
  homeDir?: string;
}

export interface Terminal {
  stdout(): string;
  stderr(): string;
  /** Whether keys are taken one by one and not echoed by the terminal itself. */
  isRaw(): boolean;
  type(keys: string): void;
  interrupt(): void;
  /** Waits for a question and answers it. */
  answer(question: string, keys: string): Promise<void>;
  run(...args: string[]): Promise<number>;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: wiping a line is a control sequence
const WAITING = /\r\u001b\[2K(?:. waiting for the gateway)?/gu;

/** What stays on a screen: a busy machine keeps people waiting, and shows them that it does. */
export function withoutWaiting(screen: string): string {
  return screen.replaceAll(WAITING, '');
}

class Screen extends Writable {
  readonly isTTY = true;
  readonly columns: number;
  text = '';

  constructor(columns: number) {
    super();
    this.columns = columns;
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString('utf8');
    done();
  }
}

class Keyboard extends PassThrough {
  readonly isTTY = true;
  raw = false;

  setRawMode(on: boolean): void {
    this.raw = on;
  }
}

/** The client in this process, in front of a terminal that a test types into and looks at. */
export function openTerminal(options: TerminalOptions = {}): Terminal {
  const stdin = new Keyboard();
  const stdout = new Screen(options.columns ?? 80);
  const stderr = new Screen(options.columns ?? 80);
  const interrupt = new AbortController();
  const host: Host = {
    stdin,
    stdout,
    stderr,
    homeDir: options.homeDir ?? null,
    version: '1.2.3',
    nowMs: options.nowMs ?? Date.now,
    signal: interrupt.signal,
  };
  const type = (keys: string) => void stdin.write(keys);
  return {
    stdout: () => stdout.text,
    stderr: () => stderr.text,
    isRaw: () => stdin.raw,
    type,
    interrupt: () => interrupt.abort(),
    async answer(question, keys) {
      await eventually(async () => {
        if (!stderr.text.endsWith(question))
          throw new Error(`the screen shows ${JSON.stringify(stderr.text)}`);
      });
      type(keys);
    },
    run: (...args) => run(args, host),
  };
}
