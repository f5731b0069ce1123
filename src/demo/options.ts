import { parseArgs } from 'node:util';

const DEFAULT_REQUESTS = 20_000;
const MIN_REQUESTS = 1_000;
const MAX_REQUESTS = 500_000;
const DEFAULT_CALLS_PER_SECOND = 3;
const MAX_CALLS_PER_SECOND = 50;
const DEFAULT_SEED = 20;
const MAX_SEED = 4_294_967_295;

export interface DemoOptions {
  fresh: boolean;
  /** Calls of the past sixty days. */
  requests: number;
  callsPerSecond: number;
  seed: number;
}

export const USAGE = `npm run demo -- [--fresh] [--requests <n>] [--rate <calls per second>] [--seed <n>]

  --fresh       forget the demo's data and tell the story from its beginning
  --requests    calls of the past 60 days, ${MIN_REQUESTS} to ${MAX_REQUESTS} (default ${DEFAULT_REQUESTS})
  --rate        calls a second that keep flowing, 0 to ${MAX_CALLS_PER_SECOND} (default ${DEFAULT_CALLS_PER_SECOND})
  --seed        another number tells another story (default ${DEFAULT_SEED})
`;

export function readOptions(
  args: readonly string[],
): { kind: 'options'; options: DemoOptions } | { kind: 'help' } | { kind: 'refused'; message: string } {
  let values: { fresh?: boolean; help?: boolean; requests?: string; rate?: string; seed?: string };
  try {
    ({ values } = parseArgs({
      args: [...args],
      options: {
        fresh: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
        requests: { type: 'string' },
        rate: { type: 'string' },
        seed: { type: 'string' },
      },
    }));
  } catch (error) {
    return { kind: 'refused', message: (error as Error).message };
  }
  if (values.help) return { kind: 'help' };
  const problems: string[] = [];
  const whole = (name: string, text: string | undefined, fallback: number, min: number, max: number) => {
    if (text === undefined) return fallback;
    const value = /^\d{1,10}$/.test(text) ? Number(text) : -1;
    if (value < min || value > max) problems.push(`--${name} must be a whole number from ${min} to ${max}`);
    return value;
  };
  const options = {
    fresh: values.fresh === true,
    requests: whole('requests', values.requests, DEFAULT_REQUESTS, MIN_REQUESTS, MAX_REQUESTS),
    callsPerSecond: whole('rate', values.rate, DEFAULT_CALLS_PER_SECOND, 0, MAX_CALLS_PER_SECOND),
    seed: whole('seed', values.seed, DEFAULT_SEED, 0, MAX_SEED),
  };
  return problems.length === 0
    ? { kind: 'options', options }
    : { kind: 'refused', message: problems.join('; ') };
}
