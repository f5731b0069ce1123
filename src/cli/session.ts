import { type Client, openClient, type Refused } from '../client/client.ts';
import {
  type Config,
  changeConfig,
  configFileIn,
  DEFAULT_API_URL,
  proxyUrlOf,
  readBaseUrl,
  readConfig,
} from './config.ts';
import { Interrupted, Stop } from './exit.ts';
import type { Host } from './host.ts';
import { expiredLogin } from './keep-login.ts';
import { nextStep, sentenceOf } from './next-step.ts';
import { makeOutput, type Output } from './output.ts';
import { startProgress } from './progress.ts';
import { makePrompts, type Prompts } from './prompts.ts';

/** The flags every command takes. */
export interface GlobalFlags {
  apiUrl?: string;
  proxyUrl?: string;
  config?: string;
  json?: boolean;
  color: boolean;
}

type Answer<Data> = { ok: true; data: Data; warnings: string[] } | Refused;

/** What one command works with. */
export interface Session {
  host: Host;
  /** The command with its arguments, without its flags. */
  typed: string;
  out: Output;
  prompts: Prompts;
  config: Config;
  apiUrl: string;
  proxyUrl: string;
  /** Print the API's own JSON. */
  json: boolean;
  /** Calls in the name of nobody. */
  anonymous: Client;
  /** Calls in the name of who is logged in; ends the command when nobody is. */
  client: Client;
  token(): string;
  /** Waits for an answer, shows what the server warns about, and ends the command at a refusal. */
  take<Data>(answer: Promise<Answer<Data>>): Promise<Data>;
  /** The same at another gateway. */
  at(apiUrl: string): Session;
  /** Whether the gateway, or its proxy, was named on the command line. */
  isApiUrlGiven: boolean;
  isProxyUrlGiven: boolean;
  refuse(refused: Refused): Stop;
  changeConfig(changes: Partial<Config>): void;
  configFile: string;
}

export function openSession(host: Host, flags: GlobalFlags, typed: string): Session {
  const configFile = flags.config ?? configFileIn(host.homeDir);
  const config = readConfig(configFile);
  const apiUrl = baseUrl(flags.apiUrl ?? config.api_url);
  const proxyUrl = flags.proxyUrl ? baseUrl(flags.proxyUrl) : proxyUrlOf(config, apiUrl);
  const out = makeOutput(host, flags.color);
  const refuse = (refused: Refused) => {
    const expired = refused.error === 'invalid_token' ? expiredLogin(config.token, host.nowMs()) : null;
    return new Stop(refused.error, expired ?? sentenceOf(refused, typed), nextStep(refused, typed));
  };
  const token = () => {
    if (config.token !== null) return config.token;
    throw new Stop('not_logged_in', 'You are not logged in.', 'gw login');
  };
  return {
    host,
    typed,
    out,
    prompts: makePrompts(host),
    config,
    configFile,
    apiUrl,
    proxyUrl,
    json: flags.json === true,
    anonymous: openClient({ baseUrl: apiUrl }),
    get client() {
      return openClient({ baseUrl: apiUrl, token: token() });
    },
    token,
    refuse,
    at: (other) => openSession(host, { ...flags, apiUrl: other }, typed),
    isApiUrlGiven: flags.apiUrl !== undefined,
    isProxyUrlGiven: flags.proxyUrl !== undefined,
    changeConfig: (changes) => changeConfig(configFile, changes),
    async take(answer) {
      const progress = startProgress(host, 'waiting for the gateway');
      try {
        const answered = await interruptible(answer, host.signal);
        if (!answered.ok) throw refuse(answered);
        for (const warning of answered.warnings) out.warn(warning);
        return answered.data;
      } finally {
        progress.end();
      }
    },
  };
}

/** Ctrl-C need not wait for an answer nobody wants any more. */
export function interruptible<Value>(wait: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new Interrupted());
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    wait.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

function baseUrl(text: string): string {
  const url = readBaseUrl(text);
  if (url !== null) return url;
  throw new Stop(
    'invalid_url',
    `“${text}” is not the address of a gateway.`,
    `gw --api-url ${DEFAULT_API_URL} status`,
  );
}
