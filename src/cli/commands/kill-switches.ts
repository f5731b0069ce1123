import { type Command, Option } from 'commander';
import { KILL_EVERYTHING, KILL_SCOPES } from '../../contract/kill-switches.ts';
import { confirmed, defaultsTo, describeCommand, runs, YES_FLAG } from '../command.ts';
import { Stop } from '../exit.ts';
import { age } from '../format.ts';
import type { Host } from '../host.ts';
import type { Session } from '../session.ts';
import { showable } from '../text.ts';

interface ActivateOptions {
  scope: (typeof KILL_SCOPES)[number];
  target?: string;
  reason?: string;
  yes?: boolean;
}

export function killCommand(host: Host): Command {
  const group = describeCommand({
    usage: 'kill',
    summary: 'Stop requests before they reach a provider',
    detail: 'A kill switch is on within a second everywhere, until it is lifted.',
    examples: [
      'gw kill --scope service --target checkout --reason "runaway retries"',
      'gw kill --scope all',
      'gw kill list',
      'gw kill undo <id>',
    ],
  });
  return defaultsTo(group, activateCommand(host)).addCommand(listCommand(host)).addCommand(undoCommand(host));
}

function activateCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'activate',
    summary: 'Put a switch on, at once (what gw kill does)',
    examples: [
      'gw kill --scope team --target platform',
      'gw kill activate --scope api_key --target gw_live_ab12c',
    ],
  })
    .addOption(new Option('--scope <scope>', 'what is stopped').choices(KILL_SCOPES).makeOptionMandatory())
    .option('--target <target>', 'which team, service, agent or key; not for all')
    .option('--reason <reason>', 'why, for those who wonder')
    .option(...YES_FLAG);
  return runs<ActivateOptions>(host, command, activate);
}

async function activate(session: Session, options: ActivateOptions): Promise<void> {
  const { out, client, host } = session;
  const target = options.scope === 'all' ? KILL_EVERYTHING : options.target;
  if (target === undefined) {
    throw new Stop(
      'scope_value_required',
      `The scope ${options.scope} needs --target.`,
      `gw kill --scope ${options.scope} --target <which>`,
    );
  }
  // A person gets a moment to think before everything stops; a script in the night must not hang on a question.
  if (options.scope === 'all' && host.stdin.isTTY) {
    await confirmed(session, 'Stop every request of this account?', options.yes);
  }
  const body = {
    scope_type: options.scope,
    scope_value: target,
    ...(options.reason !== undefined && { reason: options.reason }),
  };
  const made = await session.take(client.call('activateKillSwitch', { body }));
  if (session.json) out.json(made);
  else out.line(made.id);
  const what =
    made.scope_type === 'all'
      ? 'all requests'
      : `requests of ${made.scope_type} ${showable(made.scope_value)}`;
  out.done(`Stopped ${what}. Undo: gw kill undo ${made.id}`);
}

function listCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'list',
    summary: 'Switches that are on, then those lifted',
    aliases: ['ls'],
    examples: ['gw kill list', 'gw kill list --json'],
  });
  return runs<object>(host, command, async (session) => {
    const { out } = session;
    const switches = await session.take(session.client.call('listKillSwitches'));
    if (session.json) return out.json(switches);
    if (switches.length === 0) return out.note('No kill switches; requests flow.');
    const nowMs = session.host.nowMs();
    out.table(
      [
        {
          title: 'STATE',
          of: (one) => (one.deactivated_at ? 'lifted' : 'active'),
          paint: (text, one, colours) => (one.deactivated_at ? colours.dim(text) : colours.red(text)),
        },
        { title: 'SCOPE', of: (one) => one.scope_type },
        { title: 'TARGET', of: (one) => one.scope_value, flexible: true },
        { title: 'REASON', minor: true, of: (one) => one.reason ?? '-', flexible: true },
        { title: 'BY', minor: true, of: (one) => one.activated_by, flexible: true },
        { title: 'SINCE', minor: true, of: (one) => age(one.activated_at, nowMs) },
        { title: 'LIFTED', minor: true, of: (one) => age(one.deactivated_at, nowMs) },
        { title: 'ID', of: (one) => one.id },
      ],
      switches,
    );
  });
}

function undoCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'undo <id>',
    summary: 'Lift a switch; requests flow again',
    examples: ['gw kill undo <id>'],
  });
  return runs<object>(host, command, async (session, _options, [id]) => {
    await session.take(session.client.call('deactivateKillSwitch', { params: { id: id! } }));
    session.out.done(`Lifted the kill switch ${id}; requests flow again.`);
  });
}
