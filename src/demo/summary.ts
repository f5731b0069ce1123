import { join } from 'node:path';
import type { DemoState } from './state.ts';

/** What a newcomer needs to look around, and nothing that has to be looked up elsewhere. */
export function describeDemo(
  state: DemoState,
  at: { apiUrl: string; proxyUrl: string; dataDir: string; callsPerSecond: number },
): string {
  const body = `{"model":"gpt-5-mini","messages":[{"role":"user","content":"Hello"}]}`;
  const commands = [
    ['gw login', 'the e-mail and password above'],
    ['gw cost --by team', 'who spends what'],
    ['gw tail', 'calls as they come'],
    ['gw budgets list', 'one near its limit, one used up, one that waits for approval'],
    ['gw savings list', 'what could be cheaper'],
    ['gw alerts list', 'what happened'],
    ['gw ledger verify', 'every record, hash by hash'],
    ['gw kill list', 'what is stopped'],
  ];
  const flowing =
    at.callsPerSecond > 0 ? `About ${at.callsPerSecond} calls a second keep flowing` : 'No calls are flowing';
  return `
The demo is ready. ${flowing}; nothing leaves this machine.

  dashboard   ${at.apiUrl}/
  e-mail      ${state.email}
  password    ${state.password}

  API         ${at.apiUrl}/v1     docs ${at.apiUrl}/docs
  proxy       ${at.proxyUrl}/v1/proxy/{openai|anthropic|gemini|deepseek}/
  key         ${state.keys.production}
  operator    ${at.apiUrl}/operator     its token is in ${join(at.dataDir, 'secrets.json')}
  data        ${at.dataDir}     mails in ${join(at.dataDir, 'outbox')}
  seed        ${state.seed}

Make a call of your own and find it in the live tail:

  curl ${at.proxyUrl}/v1/proxy/openai/v1/chat/completions \\
    -H 'Authorization: Bearer ${state.keys.production}' \\
    -H 'X-Gateway-Service: my-first-call' -H 'Content-Type: application/json' \\
    -d '${body}'

Look around from the terminal (gw is dist/gw.mjs; give it --api-url ${at.apiUrl} once, at the login):

${commands.map(([command, what]) => `  ${command!.padEnd(20)}${what}`).join('\n')}

Ctrl-C stops it; npm run demo goes on where it stopped, npm run demo -- --fresh starts over.
`;
}
