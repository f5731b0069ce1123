import { type Command, Option } from 'commander';
import type { Static } from 'typebox';
import { ALERT_TYPES, type Alert, SEVERITIES } from '../../contract/alerts.ts';
import { MAX_PAGE_LIMIT } from '../../contract/operation.ts';
import type { Colours } from '../colours.ts';
import { describeCommand, runs } from '../command.ts';
import { Failed } from '../exit.ts';
import { readWholeNumber } from '../flags.ts';
import { age } from '../format.ts';
import type { Host } from '../host.ts';
import { showable } from '../text.ts';

interface ListOptions {
  unread?: boolean;
  type?: (typeof ALERT_TYPES)[number];
  severity?: (typeof SEVERITIES)[number];
  limit: number;
}

export function alertsCommand(host: Host): Command {
  return describeCommand({
    usage: 'alerts',
    summary: 'What you were told of',
    aliases: ['al'],
    examples: ['gw alerts list --unread', 'gw alerts ack <id>', 'gw al test'],
  })
    .addCommand(listCommand(host))
    .addCommand(ackCommand(host))
    .addCommand(testCommand(host));
}

function listCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'list',
    summary: 'Alerts, newest first',
    aliases: ['ls'],
    examples: [
      'gw alerts list',
      'gw alerts list --unread --severity critical',
      'gw alerts list --type cost_anomaly',
    ],
  })
    .option('--unread', 'only those not acknowledged')
    .addOption(new Option('--type <type>', 'only of this type').choices(ALERT_TYPES))
    .addOption(new Option('--severity <severity>', 'only of this severity').choices(SEVERITIES))
    .option('--limit <rows>', 'how many', readWholeNumber(1, MAX_PAGE_LIMIT), 50);
  return runs<ListOptions>(host, command, async (session, options) => {
    const { out } = session;
    const query = {
      limit: options.limit,
      ...(options.unread === true && { acknowledged: false }),
      ...(options.type !== undefined && { alert_type: options.type }),
      ...(options.severity !== undefined && { severity: options.severity }),
    };
    const page = await session.take(session.client.call('listAlerts', { query }));
    if (session.json) return out.json(page);
    if (page.data.length === 0) return out.note('No alerts.');
    out.table<Static<typeof Alert>>(
      [
        { title: 'WHEN', of: (alert) => age(alert.created_at, session.host.nowMs()) },
        {
          title: 'SEVERITY',
          of: (alert) => alert.severity,
          paint: (text, alert, colours) => paintSeverity(text, alert.severity, colours),
        },
        { title: 'TYPE', minor: true, of: (alert) => alert.alert_type },
        { title: 'TITLE', of: (alert) => alert.title, flexible: true },
        { title: 'READ', minor: true, of: (alert) => (alert.acknowledged ? 'yes' : 'no') },
        { title: 'ID', of: (alert) => alert.id },
      ],
      page.data,
    );
  });
}

export function paintSeverity(text: string, severity: string, colours: Colours): string {
  if (severity === 'critical') return colours.red(text);
  return severity === 'warning' ? colours.yellow(text) : text;
}

function ackCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'ack <id>',
    summary: 'Acknowledge an alert',
    examples: ['gw alerts ack <id>'],
  });
  return runs<object>(host, command, async (session, _options, [id]) => {
    const alert = await session.take(session.client.call('acknowledgeAlert', { params: { id: id! } }));
    if (session.json) session.out.json(alert);
    session.out.done(`Acknowledged: ${showable(alert.title)}`);
  });
}

function testCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'test',
    summary: 'Send a test message to the chat webhook, if one is set, and by e-mail',
    examples: ['gw alerts test'],
  });
  return runs<object>(host, command, async (session) => {
    const { out } = session;
    const outcome = await session.take(session.client.call('testAlerts'));
    if (session.json) out.json(outcome);
    else {
      for (const destination of outcome.sent_to) out.line(`${destination}: sent`);
      for (const { destination, reason } of outcome.failed)
        out.line(`${destination}: failed: ${showable(reason)}`);
    }
    if (outcome.failed.length > 0) throw new Failed();
  });
}
