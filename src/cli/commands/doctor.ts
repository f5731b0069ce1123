import type { Command } from 'commander';
import { describeCommand, runs } from '../command.ts';
import {
  type Check,
  checkApi,
  checkMeteredCall,
  checkProviderKeys,
  checkProxy,
  checkToken,
} from '../doctor.ts';
import { Failed } from '../exit.ts';
import type { Host } from '../host.ts';
import type { Session } from '../session.ts';
import { padEnd } from '../text.ts';

const NAME_CELLS = 12;

export function doctorCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'doctor',
    summary: 'Check the whole setup and say what to do next',
    detail:
      'It follows the way from this machine through the gateway to a provider and into the request log, with one call that costs nothing.',
    examples: ['gw doctor', 'gw doctor --proxy-url https://proxy.example.com', 'gw doctor --no-call'],
  }).option('--no-call', 'leave out the call to a provider (it lists models and costs nothing)');
  return runs<{ call: boolean }>(host, command, doctor);
}

async function doctor(session: Session, options: { call: boolean }): Promise<void> {
  const checks: Check[] = [];
  const report = (check: Check) => {
    checks.push(check);
    if (!session.json) show(session, check);
    return check.result === 'ok';
  };
  const apiAnswers = report(await checkApi(session));
  const proxyAnswers = report(await checkProxy(session));
  if (apiAnswers && report(await checkToken(session))) {
    const { check, provider } = await checkProviderKeys(session);
    report(check);
    if (provider !== null && proxyAnswers && options.call) report(await checkMeteredCall(session, provider));
  }
  for (const name of ['Token', 'Provider key', 'Metered call']) {
    if (checks.some((check) => check.name === name)) continue;
    report({ name, result: 'skipped', detail: 'not checked' });
  }
  if (session.json) session.out.json(checks);
  const failed = checks.find((check) => check.result === 'failed');
  if (failed?.result === 'failed') {
    session.out.note(`Next: ${failed.next}`);
    throw new Failed();
  }
  session.out.note(
    'Next: point your application at the proxy with a key of its own: gw keys create --name <name>',
  );
}

function show(session: Session, check: Check): void {
  const { colours } = session.out;
  const mark = { ok: colours.green('✓'), failed: colours.red('✗'), skipped: colours.dim('-') }[check.result];
  session.out.line(`${mark} ${padEnd(check.name, NAME_CELLS)}  ${check.detail}`);
}
