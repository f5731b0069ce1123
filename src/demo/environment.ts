import { PROVIDERS } from '../contract/providers.ts';
import type { Simulator } from '../simulator/index.ts';
import type { LocalServices } from './local-services.ts';

const DEFAULT_DATA_DIR = './data/demo';
/** Short, so that a delivery that fails has failed for good before anybody looks. */
const RETRY_SCHEDULE = '0,1,3';

/**
 * The server's own variables: those of the shell where they are harmless, and the demo's where the shell's could
 * carry something off this machine or into data that is not the demo's.
 */
export function demoEnvironment(
  env: NodeJS.ProcessEnv,
  around: { simulator: Simulator; local: LocalServices },
): NodeJS.ProcessEnv {
  const { SMTP_URL: _noMail, ...shell } = env;
  const upstreams = PROVIDERS.map((provider) => [
    `GATEWAY_${provider.toUpperCase()}_URL`,
    around.simulator.providerUrl(provider),
  ]);
  return {
    GATEWAY_DATA_DIR: DEFAULT_DATA_DIR,
    GATEWAY_LOG_LEVEL: 'warn',
    GATEWAY_WEBHOOK_RETRY_SCHEDULE: RETRY_SCHEDULE,
    ...shell,
    ...Object.fromEntries(upstreams),
    GATEWAY_ROLE: 'all',
    GATEWAY_WORKERS: '1',
    GATEWAY_WEBHOOK_ALLOW_PRIVATE: '1',
    GATEWAY_CHAT_HOOK_PREFIX: around.local.chatPrefix,
    GATEWAY_PRICE_SOURCES: around.local.priceSource,
  };
}
