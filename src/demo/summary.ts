import { join } from 'node:path';
import type { DemoState } from './state.ts';

/** What a newcomer needs to look around, and nothing that has to be looked up elsewhere. */
export function describeDemo(
  state: DemoState,
  at: { apiUrl: string; proxyUrl: string; dataDir: string; program: string; callsPerSecond: number },
): string {
  const body = `{"model":"gpt-5-mini","messages":[{"role":"user","content":"Hello"}]}`;
  const commands = [
    ['gw cost --by service', 'who spends what'],
    ['gw tail', 'calls as they come'],
    ['gw requests', 'the last of them'],
    ['gw budgets list', 'one near its limit, one used up, one that waits for approval'],
    ['gw savings list', 'what could be cheaper'],
    ['gw alerts list', 'what happened'],
    ['gw models changes', 'what will be dearer or cheaper'],
    ['gw reconcile list', 'an invoice that does not agree with the ledger'],
    ['gw ledger verify', 'every record, hash by hash'],
  ];
  const flowing =
    at.callsPerSecond > 0 ? `About ${at.callsPerSecond} calls a second keep flowing` : 'No calls are flowing';
  return `
The demo is ready. ${flowing}; nothing leaves this machine.

  dashboard   ${at.apiUrl}/     public cost index ${at.apiUrl}/cost-index
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

Look around from the terminal, with a configuration apart from your own:

  alias gw='node ${at.program} --config ${join(at.dataDir, 'gw.json')} --proxy-url ${at.proxyUrl}'
  echo '${state.password}' | gw init --api-url ${at.apiUrl} --email ${state.email}

${commands.map(([command, what]) => `  ${command!.padEnd(22)}${what}`).join('\n')}

Ctrl-C stops it; npm run demo goes on where it stopped, npm run demo -- --fresh starts over.
`;
}
