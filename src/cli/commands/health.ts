import type { Command } from 'commander';
import { describeCommand, runs } from '../command.ts';
import { Failed, Stop } from '../exit.ts';
import { duration, until } from '../format.ts';
import type { Host } from '../host.ts';
import { expiryOf } from '../keep-login.ts';
import { interruptible, type Session } from '../session.ts';
import { showable } from '../text.ts';

export function statusCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'status',
    summary: 'Is the gateway up, how fast, and who are you to it',
    examples: ['gw status', 'gw status --json', 'gw --api-url https://gateway.example.com status'],
  });
  return runs<object>(host, command, status);
}

async function status(session: Session): Promise<void> {
  const { out, host } = session;
  const startMs = host.nowMs();
  const answer = await interruptible(session.anonymous.call('getHealth'), host.signal);
  const latencyMs = host.nowMs() - startMs;
  const health: Record<string, unknown> = answer.ok ? answer.data : answer.body;
  if (typeof health.version !== 'string') {
    throw new Stop(
      'not_a_gateway',
      `${session.apiUrl} answers, but not as a gateway’s API does.`,
      'gw init, with the address the gateway prints when it starts',
    );
  }
  if (session.json) out.json(health);
  else {
    const said = (name: string) => showable(String(health[name] ?? '-'));
    const { colours } = out;
    const paint = answer.ok ? colours.green : colours.red;
    out.fields([
      ['API', `${session.apiUrl} ${paint(said('status'))}`],
      ['Version', said('version')],
      ['Database', health.db === 'ok' ? said('db') : colours.red(said('db'))],
      ['Latency', duration(latencyMs)],
      ['Account', await accountLine(session)],
    ]);
  }
  if (!answer.ok) throw new Failed();
}

async function accountLine(session: Session): Promise<string> {
  const { token } = session.config;
  if (token === null) return 'not logged in (gw login)';
  const answer = await interruptible(session.client.call('getAccount'), session.host.signal);
  if (answer.ok) {
    const { email, plan_tier } = answer.data;
    return `${showable(email)} (plan ${plan_tier}), token expires ${until(expiryOf(token), session.host.nowMs())}`;
  }
  return answer.status === 401
    ? `${session.refuse(answer).message} (gw login)`
    : `unknown: ${showable(answer.message)}`;
}
