import { type Command, Option } from 'commander';
import { BUDGET_MODES, BUDGET_PERIODS } from '../../contract/budgets.ts';
import { bar } from '../chart.ts';
import { confirmed, describeCommand, runs, YES_FLAG } from '../command.ts';
import { Stop } from '../exit.ts';
import { readPositiveUsd } from '../flags.ts';
import { decimalsFor, money, percent, until } from '../format.ts';
import type { Host } from '../host.ts';
import type { Session } from '../session.ts';
import { showable } from '../text.ts';
import { teamNames } from './teams.ts';

const SCOPES = ['org', 'team', 'service', 'agent'] as const;
type Scope = (typeof SCOPES)[number];
const BAR_CELLS = 10;

export function budgetsCommand(host: Host): Command {
  return describeCommand({
    usage: 'budgets',
    summary: 'Limits on spend',
    detail: 'At the limit a soft budget tells you, a hard one blocks, one with approval blocks and asks.',
    examples: ['gw budgets list', 'gw budgets create --amount 500 --mode hard', 'gw budgets delete <id>'],
  })
    .addCommand(listCommand(host))
    .addCommand(createCommand(host))
    .addCommand(deleteCommand(host));
}

function listCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'list',
    summary: 'All budgets with what is spent of them',
    aliases: ['ls'],
    examples: ['gw budgets list', 'gw budgets ls --json'],
  });
  return runs<object>(host, command, listBudgets);
}

async function listBudgets(session: Session): Promise<void> {
  const { out, client } = session;
  const budgets = await session.take(client.call('listBudgets'));
  if (session.json) return out.json(budgets);
  if (budgets.length === 0)
    return out.note('No budgets yet. Next: gw budgets create --amount <usd> --mode hard');
  const teams = budgets.some((budget) => budget.scope_type === 'team') ? await teamNames(session) : new Map();
  const nowMs = session.host.nowMs();
  const limitDecimals = decimalsFor(budgets.map((budget) => budget.effective_limit_microdollars));
  const spendDecimals = decimalsFor(budgets.map((budget) => budget.current_spend_microdollars));
  out.table(
    [
      { title: 'SCOPE', of: (budget) => scopeText(budget, teams), flexible: true },
      { title: 'MODE', minor: true, of: (budget) => budget.mode },
      { title: 'PERIOD', minor: true, of: (budget) => budget.period },
      {
        title: 'LIMIT',
        of: (budget) => money(budget.effective_limit_microdollars, limitDecimals),
        right: true,
      },
      {
        title: 'SPENT',
        of: (budget) => money(budget.current_spend_microdollars, spendDecimals),
        right: true,
      },
      {
        title: 'USED',
        of: (budget) => percent(budget.utilization),
        right: true,
        paint: (text, budget, colours) =>
          budget.utilization >= 1
            ? colours.red(text)
            : budget.utilization >= 0.8
              ? colours.yellow(text)
              : text,
      },
      { title: '', minor: true, of: (budget) => bar(budget.utilization, 1, BAR_CELLS) },
      { title: 'RESETS', minor: true, of: (budget) => until(budget.resets_at, nowMs) },
      { title: 'ID', of: (budget) => budget.id },
    ],
    budgets,
  );
}

function scopeText(
  budget: { scope_type: string; scope_id: string | null; agent_name: string | null },
  teams: Map<string, string>,
): string {
  switch (budget.scope_type) {
    case 'organization':
      return 'org';
    case 'team':
      return `team ${teams.get(budget.scope_id ?? '') ?? budget.scope_id}`;
    case 'agent':
      return `agent ${budget.agent_name}`;
    default:
      return `${budget.scope_type} ${budget.scope_id}`;
  }
}

interface CreateOptions {
  scope: Scope;
  team?: string;
  service?: string;
  agent?: string;
  amount: number;
  period: (typeof BUDGET_PERIODS)[number];
  mode: (typeof BUDGET_MODES)[number];
}

function createCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'create',
    summary: 'Create a budget',
    aliases: ['set'],
    examples: [
      'gw budgets create --amount 500',
      'gw budgets create --scope team --team platform --amount 50 --period daily --mode hard',
      'gw budgets create --scope agent --agent crawler --amount 5 --mode approval',
    ],
  })
    .addOption(new Option('--scope <scope>', 'whose spend').choices(SCOPES).default('org'))
    .option('--team <team>', 'id, slug or name; for the scope team')
    .option('--service <service>', 'service name; for the scope service')
    .option('--agent <agent>', 'agent name; for the scope agent')
    .requiredOption('--amount <usd>', 'US dollars, more than 0', readPositiveUsd)
    .addOption(
      new Option('--period <period>', 'when it starts anew').choices(BUDGET_PERIODS).default('monthly'),
    )
    .addOption(
      new Option('--mode <mode>', 'what happens at the limit').choices(BUDGET_MODES).default('soft'),
    );
  return runs<CreateOptions>(host, command, createBudget);
}

async function createBudget(session: Session, options: CreateOptions): Promise<void> {
  const { out, client } = session;
  const body = {
    ...scopeBody(options),
    amount_usd: options.amount,
    period: options.period,
    mode: options.mode,
  };
  const budget = await session.take(client.call('createBudget', { body }));
  if (session.json) out.json(budget);
  else out.line(budget.id);
  out.done(
    `Created a ${budget.period} ${budget.mode} budget of ${money(budget.effective_limit_microdollars)}; it resets ${until(budget.resets_at, session.host.nowMs())}.`,
  );
}

/** The command line's words for a scope into the API's. A limit must not fall on others than those named. */
function scopeBody(options: CreateOptions) {
  for (const scope of ['team', 'service', 'agent'] as const) {
    if (options[scope] === undefined || options.scope === scope) continue;
    throw new Stop(
      'usage',
      `--${scope} is for the scope ${scope}; this would be a budget for the scope ${options.scope}.`,
      `gw budgets create --scope ${scope} --${scope} ${showable(options[scope])} --amount ${options.amount}`,
    );
  }
  switch (options.scope) {
    case 'org':
      return { scope_type: 'organization' as const };
    case 'team':
      return { scope_type: 'team' as const, scope_id: needed(options.team, 'team') };
    case 'service':
      return { scope_type: 'service' as const, scope_id: needed(options.service, 'service') };
    case 'agent':
      return { scope_type: 'agent' as const, agent_name: needed(options.agent, 'agent') };
  }
}

function needed(value: string | undefined, scope: string): string {
  if (value !== undefined) return value;
  throw new Stop(
    'scope_value_required',
    `The scope ${scope} needs --${scope}.`,
    `gw budgets create --scope ${scope} --${scope} <name> --amount <usd>`,
  );
}

function deleteCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'delete <id>',
    summary: 'Delete a budget; what it blocked flows again',
    aliases: ['rm', 'remove'],
    examples: ['gw budgets delete <id>', 'gw budgets rm <id> --yes'],
  }).option(...YES_FLAG);
  return runs<{ yes?: boolean }>(host, command, async (session, options, [id]) => {
    await confirmed(session, `Delete the budget ${id}?`, options.yes);
    await session.take(session.client.call('deleteBudget', { params: { id: id! } }));
    session.out.done(`Deleted the budget ${id}.`);
  });
}
