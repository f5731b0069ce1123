import type { Command } from 'commander';
import { describeCommand, runs } from '../command.ts';
import { readMicrodollars } from '../flags.ts';
import { money } from '../format.ts';
import type { Host } from '../host.ts';
import { showable } from '../text.ts';

export function savingsCommand(host: Host): Command {
  return describeCommand({
    usage: 'savings',
    summary: 'Where the last 30 days could have cost less',
    examples: ['gw savings list --min-savings 10', 'gw savings dismiss <id>'],
  })
    .addCommand(listCommand(host))
    .addCommand(dismissCommand(host));
}

function listCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'list',
    summary: 'Findings, the largest saving first',
    aliases: ['ls'],
    examples: ['gw savings list', 'gw savings list --min-savings 10 --json'],
  }).option('--min-savings <usd>', 'leave out what saves less', readMicrodollars, 0);
  return runs<{ minSavings: number }>(host, command, async (session, options) => {
    const { out } = session;
    const all = await session.take(session.client.call('listSavings'));
    const findings = all.filter((finding) => finding.savings_microdollars >= options.minSavings);
    if (session.json) return out.json(findings);
    if (findings.length === 0) return out.note('No findings. They are computed every night at 02:00 UTC.');
    out.table(
      [
        { title: 'FINDING', flexible: true, of: (finding) => finding.finding_type },
        { title: 'MODEL', of: (finding) => finding.model_id, flexible: true },
        { title: 'SERVICE', minor: true, of: (finding) => finding.service_name ?? '-', flexible: true },
        {
          title: 'COST',
          minor: true,
          of: (finding) => money(finding.current_cost_microdollars),
          right: true,
        },
        {
          title: 'SAVES',
          of: (finding) => money(finding.savings_microdollars),
          right: true,
          paint: (text, _finding, colours) => colours.green(text),
        },
        { title: 'WHAT TO DO', of: (finding) => finding.recommendation_text, flexible: true },
        { title: 'ID', of: (finding) => finding.id },
      ],
      findings,
    );
    out.note('Findings can concern the same requests, so their savings do not add up.');
  });
}

function dismissCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'dismiss <id>',
    summary: 'Put a finding away for good',
    examples: ['gw savings dismiss <id>'],
  });
  return runs<object>(host, command, async (session, _options, [id]) => {
    const finding = await session.take(session.client.call('dismissSaving', { params: { id: id! } }));
    if (session.json) session.out.json(finding);
    session.out.done(`Dismissed the finding for ${showable(finding.model_id)}.`);
  });
}
