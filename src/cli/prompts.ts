import { StringDecoder } from 'node:string_decoder';
import { Interrupted, Stop } from './exit.ts';
import type { Host } from './host.ts';

const CTRL_C = '\u0003';
const CTRL_D = '\u0004';
const CTRL_U = '\u0015';
const BACKSPACES = ['\u007f', '\b'];
// biome-ignore lint/suspicious/noControlCharactersInRegex: arrow keys and pasting marks arrive as escapes
const ESCAPES = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|O.)/g;
/** Longer than any key, shorter than a file piped in by mistake. */
const MAX_LINE_CHARACTERS = 8_192;

interface Choice<Value extends string> {
  value: Value;
  label: string;
}

/** Questions on stderr, answers from stdin. Without a terminal the answers are the lines of what is piped in. */
export interface Prompts {
  text(question: string, fallback?: string): Promise<string>;
  /** What is typed is not shown. */
  secret(question: string): Promise<string>;
  choose<Value extends string>(question: string, choices: Choice<Value>[]): Promise<Value>;
  /** Only a person may confirm: piped input never does. */
  confirm(question: string): Promise<boolean>;
}

export function makePrompts(host: Host): Prompts {
  const reader = makeLineReader(host);

  async function answer(question: string, echo: boolean): Promise<string> {
    const line = await reader.next(question, echo);
    if (line === null) {
      throw new Stop(
        'input_required',
        `The input ended before the answer to “${question.replace(/( \(hidden\))?[?:\s]+$/, '')}”.`,
        'run the command in a terminal, or pipe one answer per line into it',
      );
    }
    return line.trim();
  }

  return {
    async text(question, fallback) {
      const said = await answer(fallback ? `${question} [${fallback}]: ` : `${question}: `, true);
      return said || (fallback ?? '');
    },
    secret: (question) => answer(`${question} (hidden): `, false),
    async choose(question, choices) {
      const list = choices.map(({ label }, index) => `  ${index + 1}) ${label}`).join('\n');
      if (host.stdin.isTTY) host.stderr.write(`${question}\n${list}\n`);
      for (;;) {
        const said = await answer(`Number [1]: `, true);
        const chosen = choices[Number(said || '1') - 1] ?? choices.find(({ value }) => value === said);
        if (chosen) return chosen.value;
        host.stderr.write(`Please answer with a number from 1 to ${choices.length}.\n`);
      }
    },
    async confirm(question) {
      return /^y(es)?$/i.test(await answer(`${question} [y/N] `, true));
    },
  };
}

interface LineReader {
  /** Asks, on a terminal, and takes the next line without its end; null when there is none. */
  next(question: string, echo: boolean): Promise<string | null>;
}

function makeLineReader(host: Host): LineReader {
  const decoder = new StringDecoder('utf8');
  let ahead = '';
  let ended = false;

  return {
    next: (question, echo) =>
      new Promise((resolve, reject) => {
        const isTerminal = host.stdin.isTTY === true;
        const line = startLine(echo && isTerminal, (text) => void host.stderr.write(text));
        const settle = (finish: () => void) => {
          host.stdin.off('data', onData);
          host.stdin.off('end', onEnd);
          host.signal.removeEventListener('abort', onAbort);
          if (isTerminal) host.stdin.setRawMode?.(false);
          host.stdin.pause();
          if (isTerminal) host.stderr.write('\n');
          finish();
        };
        const take = (text: string) => {
          const taken = line.take(text);
          if (taken.kind === 'more') return;
          ahead = taken.rest;
          if (taken.kind === 'interrupted') settle(() => reject(new Interrupted()));
          else settle(() => resolve(taken.line));
        };
        const onData = (chunk: Buffer | string) =>
          take(typeof chunk === 'string' ? chunk : decoder.write(chunk));
        const onEnd = () => {
          ended = true;
          settle(() => resolve(line.soFar() === '' ? null : line.soFar()));
        };
        const onAbort = () => settle(() => reject(new Interrupted()));
        // Before the question: the terminal itself would show what a quick hand types into it in between.
        if (isTerminal) host.stdin.setRawMode?.(true);
        if (isTerminal) host.stderr.write(question);
        host.stdin.on('data', onData);
        host.stdin.on('end', onEnd);
        host.signal.addEventListener('abort', onAbort);
        const already = ahead;
        ahead = '';
        if (already !== '') take(already);
        if (ended && host.stdin.listeners('data').includes(onData)) onEnd();
        else if (host.stdin.listeners('data').includes(onData)) host.stdin.resume();
      }),
  };
}

type Taken =
  | { kind: 'more' }
  | { kind: 'line'; line: string; rest: string }
  | { kind: 'interrupted'; rest: string };

/** One line as it is typed, key by key. */
function startLine(echo: boolean, write: (text: string) => void) {
  let line = '';
  const show = (text: string) => {
    if (echo) write(text);
  };
  return {
    soFar: () => line,
    take(text: string): Taken {
      const keys = [...text.replace(ESCAPES, '')];
      for (const [index, key] of keys.entries()) {
        const rest = keys.slice(index + 1).join('');
        if (key === '\r' || key === '\n') return { kind: 'line', line, rest: rest.replace(/^\n/, '') };
        if (key === CTRL_C || (key === CTRL_D && line === '')) return { kind: 'interrupted', rest };
        if (BACKSPACES.includes(key)) {
          if (line !== '') show('\b \b');
          line = [...line].slice(0, -1).join('');
        } else if (key === CTRL_U) {
          show('\b \b'.repeat([...line].length));
          line = '';
        } else if (key >= ' ' && line.length < MAX_LINE_CHARACTERS) {
          line += key;
          show(key);
        }
      }
      return { kind: 'more' };
    },
  };
}
