import { parseArgs } from 'node:util';
import { PROVIDERS } from '../contract/providers.ts';
import { type SimRule, startSimulator } from './index.ts';

/** Nobody can ask this process for its calls, so it need not remember them; what it billed it prints at the end. */
const MAX_CALLS = 1;

/** Runs the simulator by itself: `main [port] [--host h] [--seed n] [--delay-ms n] …`, until SIGTERM or SIGINT. */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    seed: { type: 'string' },
    'delay-ms': { type: 'string' },
    'first-byte-delay-ms': { type: 'string' },
    'chunk-delay-ms': { type: 'string' },
    chunks: { type: 'string' },
    'output-tokens': { type: 'string' },
    'bill-exactly-cap': { type: 'boolean', default: false },
  },
});

function numberOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) {
    console.error(`${name} must be a whole number that is not negative`);
    process.exit(2);
  }
  return value;
}

const outputTokens = numberOf('--output-tokens', values['output-tokens']);
const defaults: SimRule = {
  delayMs: numberOf('--delay-ms', values['delay-ms']),
  firstByteDelayMs: numberOf('--first-byte-delay-ms', values['first-byte-delay-ms']),
  chunkDelayMs: numberOf('--chunk-delay-ms', values['chunk-delay-ms']),
  chunks: numberOf('--chunks', values.chunks),
  usage: outputTokens === undefined ? undefined : { outputTokens },
  billExactlyCap: values['bill-exactly-cap'],
};
const simulator = await startSimulator({
  port: numberOf('port', positionals[0]),
  host: values.host,
  seed: numberOf('--seed', values.seed),
  defaults,
  maxCalls: MAX_CALLS,
});

for (const provider of PROVIDERS) {
  console.log(`GATEWAY_${provider.toUpperCase()}_URL=${simulator.providerUrl(provider)}`);
}

async function stop(): Promise<void> {
  await simulator.close();
  console.log(JSON.stringify({ billed: simulator.billed() }));
  process.exit(0);
}
process.once('SIGTERM', stop);
process.once('SIGINT', stop);
