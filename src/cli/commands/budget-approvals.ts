import { type Command, Option } from 'commander';
import { APPROVAL_STATUSES, DEFAULT_GRANT_HOURS, MAX_GRANT_HOURS } from '../../contract/budget-approvals.ts';
import { describeCommand, runs } from '../command.ts';
import { readPositiveUsd, readWholeNumber } from '../flags.ts';
import { age, dollars, until } from '../format.ts';
import type { Host } from '../host.ts';

export function approvalsCommand(host: Host): Command {
  return describeCommand({
    usage: 'approvals',
    summary: 'Grant or deny more than a budget allows',
    examples: [
      'gw approvals list --status pending',
      'gw approvals approve <id> --extra 20',
      'gw approvals deny <id>',
    ],
  })
    .addCommand(listCommand(host))
    .addCommand(approveCommand(host))
    .addCommand(denyCommand(host));
}

function listCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'list',
    summary: 'Approvals, newest first',
    aliases: ['ls'],
    examples: ['gw approvals list', 'gw approvals list --status pending'],
  }).addOption(new Option('--status <status>', 'only these').choices(APPROVAL_STATUSES));
  return runs<{ status?: (typeof APPROVAL_STATUSES)[number] }>(host, command, async (session, options) => {
    const { out } = session;
    const query = options.status === undefined ? {} : { status: options.status };
    const page = await session.take(session.client.call('listBudgetApprovals', { query }));
    if (session.json) return out.json(page);
    if (page.data.length === 0) return out.note('No approvals.');
    const nowMs = session.host.nowMs();
    out.table(
      [
        {
          title: 'STATUS',
          of: (approval) => approval.status,
          paint: (text, approval, colours) => (approval.status === 'pending' ? colours.yellow(text) : text),
        },
        { title: 'ASKED', of: (approval) => age(approval.requested_at, nowMs) },
        {
          title: 'EXTRA',
          of: (approval) => (approval.extra_usd ? dollars(approval.extra_usd) : '-'),
          right: true,
        },
        {
          title: 'UNTIL',
          minor: true,
          of: (approval) => (approval.status === 'approved' ? until(approval.approved_until, nowMs) : '-'),
        },
        { title: 'DECIDED BY', minor: true, of: (approval) => approval.decided_by ?? '-', flexible: true },
        { title: 'BUDGET', minor: true, of: (approval) => approval.budget_id },
        { title: 'ID', of: (approval) => approval.id },
      ],
      page.data,
    );
  });
}

function approveCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'approve <id>',
    summary: 'Grant more for a while; the budget falls back by itself',
    examples: ['gw approvals approve <id> --extra 20', 'gw approvals approve <id> --extra 20 --hours 72'],
  })
    .requiredOption('--extra <usd>', 'US dollars on top, more than 0', readPositiveUsd)
    .option(
      '--hours <hours>',
      `for how long, at most ${MAX_GRANT_HOURS}`,
      readWholeNumber(1, MAX_GRANT_HOURS),
      DEFAULT_GRANT_HOURS,
    );
  return runs<{ extra: number; hours: number }>(host, command, async (session, options, [id]) => {
    const granted = await session.take(
      session.client.call('approveBudgetApproval', {
        params: { id: id! },
        body: { extra_usd: options.extra, duration_hours: options.hours },
      }),
    );
    if (session.json) session.out.json(granted);
    const hours = granted.duration_hours;
    session.out.done(
      `Granted ${dollars(granted.extra_usd ?? '0')} for ${hours} ${hours === 1 ? 'hour' : 'hours'}.`,
    );
  });
}

function denyCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'deny <id>',
    summary: 'Leave the budget as it is',
    examples: ['gw approvals deny <id>'],
  });
  return runs<object>(host, command, async (session, _options, [id]) => {
    const denied = await session.take(session.client.call('denyBudgetApproval', { params: { id: id! } }));
    if (session.json) session.out.json(denied);
    session.out.done(`Denied the approval ${id}.`);
  });
}
