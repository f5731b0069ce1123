import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  DEFAULT_ALERT_THRESHOLDS,
  MAX_ALERT_THRESHOLD,
  QUOTA_DIMENSIONS,
  QUOTA_PERIODS,
} from '../../contract/spend-quotas.ts';
import { confirmed, describeCommand, runs, YES_FLAG } from '../command.ts';
import { Stop } from '../exit.ts';
import { readList, readMicrodollars } from '../flags.ts';
import { dollars, money, percent, until } from '../format.ts';
import type { Host } from '../host.ts';
import type { Session } from '../session.ts';
import { showable } from '../text.ts';

export function quotasCommand(host: Host): Command {
  return describeCommand({
    usage: 'quotas',
    summary: 'Be told at percentages of a limit; nothing is blocked',
    examples: [
      'gw quotas list',
      'gw quotas create --dimension model --value gpt-4o --period month --limit 200',
      'gw quotas forecast <id>',
    ],
  })
    .addCommand(listCommand(host))
    .addCommand(createCommand(host))
    .addCommand(forecastCommand(host))
    .addCommand(deleteCommand(host));
}

function listCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'list',
    summary: 'All spend quotas',
    aliases: ['ls'],
    examples: ['gw quotas list', 'gw quotas list --json'],
  });
  return runs<object>(host, command, async (session) => {
    const { out } = session;
    const quotas = await session.take(session.client.call('listSpendQuotas'));
    if (session.json) return out.json(quotas);
    if (quotas.length === 0) return out.note('No quotas yet. Next: gw quotas create --help');
    out.table(
      [
        { title: 'DIMENSION', of: (quota) => quota.dimension_type },
        { title: 'VALUE', of: (quota) => quota.dimension_value || '-', flexible: true },
        { title: 'PERIOD', of: (quota) => quota.period },
        { title: 'LIMIT', of: (quota) => money(quota.limit_microdollars), right: true },
        {
          title: 'TELLS AT',
          minor: true,
          of: (quota) => quota.alert_thresholds.map((value) => `${value}%`).join(' '),
        },
        { title: 'ON', minor: true, of: (quota) => (quota.enabled ? 'yes' : 'no') },
        { title: 'ID', of: (quota) => quota.id },
      ],
      quotas,
    );
  });
}

interface CreateOptions {
  dimension: (typeof QUOTA_DIMENSIONS)[number];
  value?: string;
  period: (typeof QUOTA_PERIODS)[number];
  limit: number;
  thresholds?: number[];
}

function createCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'create',
    summary: 'Create a spend quota',
    examples: [
      'gw quotas create --limit 1000',
      'gw quotas create --dimension end_customer --value acme --period day --limit 5 --thresholds 80,100,150',
    ],
  })
    .addOption(
      new Option('--dimension <dimension>', 'what is counted')
        .choices(QUOTA_DIMENSIONS)
        .default('tenant_total'),
    )
    .option('--value <value>', 'which model, team, service or end customer')
    .addOption(new Option('--period <period>', 'when it starts anew').choices(QUOTA_PERIODS).default('month'))
    .requiredOption('--limit <usd>', 'US dollars, more than 0', readLimit)
    .option(
      '--thresholds <percentages>',
      `when to tell (default: ${DEFAULT_ALERT_THRESHOLDS.join(',')})`,
      readThresholds,
    );
  return runs<CreateOptions>(host, command, createQuota);
}

async function createQuota(session: Session, options: CreateOptions): Promise<void> {
  const { out, client } = session;
  if (options.dimension !== 'tenant_total' && options.value === undefined) {
    throw new Stop(
      'scope_value_required',
      `The dimension ${options.dimension} needs --value.`,
      `gw quotas create --dimension ${options.dimension} --value <name> --limit <usd>`,
    );
  }
  const body = {
    dimension_type: options.dimension,
    dimension_value: options.value ?? '',
    period: options.period,
    limit_microdollars: options.limit,
    ...(options.thresholds !== undefined && { alert_thresholds: options.thresholds }),
  };
  const quota = await session.take(client.call('createSpendQuota', { body }));
  if (session.json) out.json(quota);
  else out.line(quota.id);
  out.done(`Created a quota of ${money(quota.limit_microdollars)} per ${quota.period}.`);
}

function forecastCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'forecast <id>',
    summary: 'Where the period will end if spend goes on as it has',
    examples: ['gw quotas forecast <id>', 'gw quotas forecast <id> --json'],
  });
  return runs<object>(host, command, async (session, _options, [id]) => {
    const { out } = session;
    const answer = await session.take(session.client.call('forecastSpendQuota', { params: { id: id! } }));
    if (session.json) return out.json(answer);
    const { quota, consumption, forecast } = answer;
    const nowMs = session.host.nowMs();
    out.fields([
      ['Quota', `${quota.dimension_type} ${showable(quota.dimension_value)}`.trimEnd()],
      ['State', forecast.state],
      [
        'Spent',
        `${dollars(consumption.spend_usd)} of ${dollars(quota.limit_usd)} (${percent(consumption.utilization)})`,
      ],
      [
        'Projected',
        forecast.projected_usd === null ? 'too little data yet' : dollars(forecast.projected_usd),
      ],
      ['Exhausted', until(forecast.projected_exhaustion_at, nowMs)],
      ['Period ends', until(consumption.period_end, nowMs)],
    ]);
  });
}

function deleteCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'delete <id>',
    summary: 'Delete a spend quota',
    aliases: ['rm'],
    examples: ['gw quotas delete <id>', 'gw quotas delete <id> --yes'],
  }).option(...YES_FLAG);
  return runs<{ yes?: boolean }>(host, command, async (session, options, [id]) => {
    await confirmed(session, `Delete the quota ${id}?`, options.yes);
    await session.take(session.client.call('deleteSpendQuota', { params: { id: id! } }));
    session.out.done(`Deleted the quota ${id}.`);
  });
}

function readLimit(text: string): number {
  const limit = readMicrodollars(text);
  if (limit === 0) throw new InvalidArgumentError('It must be more than 0.');
  return limit;
}

function readThresholds(text: string): number[] {
  return readList(text).map((item) => {
    const value = /^\d{1,4}%?$/.test(item) ? Number.parseInt(item, 10) : 0;
    if (value >= 1 && value <= MAX_ALERT_THRESHOLD) return value;
    throw new InvalidArgumentError(
      `They must be whole percentages from 1 to ${MAX_ALERT_THRESHOLD}, like 50,80,100.`,
    );
  });
}
