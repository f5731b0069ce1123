import { type Command, Option } from 'commander';
import { bar, sparkline } from '../chart.ts';
import { describeCommand, runs } from '../command.ts';
import { readDay, refuseBackwards } from '../flags.ts';
import { count, decimalsFor, grouped, money, percent } from '../format.ts';
import type { Host } from '../host.ts';
import type { Session } from '../session.ts';
import type { Column } from '../table.ts';
import { widthOf } from '../text.ts';
import { findTeamId } from './teams.ts';

const DIMENSIONS = ['model', 'team', 'service', 'user', 'customer', 'agent'] as const;
type Dimension = (typeof DIMENSIONS)[number];

const BAR_CELLS = 20;
const MIN_BAR_CELLS = 4;
/** What the columns between the name and the bar take, with all gaps. */
const FIGURES_CELLS = 55;
const SPARKLINE_CELLS = 60;
/** What stands before and after the line of the days. */
const SPARKLINE_MARGIN_CELLS = 34;

interface CostOptions {
  from?: string;
  to?: string;
  team?: string;
  model?: string;
  by?: Dimension;
}

/** What every breakdown has, whatever it breaks down by. */
interface Figures {
  label: string;
  requests: number;
  tokens_input: number;
  tokens_output: number;
  cost_microdollars: number;
}

export function costCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'cost',
    summary: 'What was spent, over time and on what',
    detail: 'In the last 30 days, or from the first day given to the last.',
    examples: [
      'gw cost',
      'gw cost --by team --from 2026-01-01 --to 2026-01-31',
      'gw cost --by user --model gpt-4o-mini',
      'gw cost --team platform --json',
    ],
  })
    .option('--from <day>', 'first UTC day, YYYY-MM-DD', readDay)
    .option('--to <day>', 'last UTC day, YYYY-MM-DD', readDay)
    .option('--team <team>', 'id, slug or name of a team')
    .option('--model <model>', 'a model id')
    .addOption(new Option('--by <dimension>', 'break it down').choices(DIMENSIONS));
  return runs<CostOptions>(host, command, cost);
}

async function cost(session: Session, options: CostOptions): Promise<void> {
  if (options.by === 'agent') {
    session.out.note('Spend is not kept by agent. Agents are in the request log: gw usage export');
    return;
  }
  refuseBackwards(options.from, options.to, 'gw cost --help');
  const query = {
    from: options.from,
    to: options.to,
    model: options.model,
    team_id: options.team === undefined ? undefined : await findTeamId(session, options.team),
  };
  if (options.by === undefined) await summary(session, query);
  else await breakdown(session, options.by, query);
}

type Query = Record<'from' | 'to' | 'model' | 'team_id', string | undefined>;

async function summary(session: Session, query: Query): Promise<void> {
  const { out, client } = session;
  const total = await session.take(client.call('getUsageSummary', { query: given(query) }));
  if (session.json) return out.json(total);
  const series = await session.take(client.call('getUsageTimeseries', { query: given(query) }));
  const days = series.data;
  const costs = days.map((row) => row.cost_microdollars);
  const cells = Math.min(
    SPARKLINE_CELLS,
    Math.max(1, (out.width ?? Number.POSITIVE_INFINITY) - SPARKLINE_MARGIN_CELLS),
  );
  const failed = total.total_requests === 0 ? 0 : total.total_errors / total.total_requests;
  out.fields([
    ['Spent', out.colours.bold(money(total.total_cost_microdollars))],
    ['Days', `${days[0]?.bucket.slice(0, 10) ?? '-'} to ${days.at(-1)?.bucket.slice(0, 10) ?? '-'}`],
    ['Requests', `${count(total.total_requests)} (${percent(failed)} failed)`],
    ['Tokens', `${count(total.total_tokens_input)} in, ${count(total.total_tokens_output)} out`],
    ['Per day', `${sparkline(costs, cells)} at most ${money(Math.max(0, ...costs))}`],
  ]);
  if (total.top_models.length > 0) {
    out.line('');
    showBars(
      session,
      'MODEL',
      total.top_models.map((row) => ({ ...row, label: row.model_id })),
      total.total_cost_microdollars,
    );
  }
  if (total.top_teams.length > 0) {
    out.line('');
    showBars(
      session,
      'TEAM',
      total.top_teams.map((row) => ({ ...row, label: row.team_name ?? '(no team)' })),
      total.total_cost_microdollars,
    );
  }
}

async function breakdown(session: Session, by: Exclude<Dimension, 'agent'>, query: Query): Promise<void> {
  const { out } = session;
  const answer = await fetchBreakdown(session, by, query);
  if (session.json) return out.json(answer.whole);
  if (answer.rows.length === 0) return out.note('Nothing was spent in that time.');
  const total = answer.rows.reduce((sum, row) => sum + row.cost_microdollars, 0);
  showBars(session, by.toUpperCase(), answer.rows, total);
  const rest = answer.whole.total - answer.rows.length;
  if (rest > 0) out.note(`${grouped(rest)} more cost less than these.`);
}

async function fetchBreakdown(session: Session, by: Exclude<Dimension, 'agent'>, query: Query) {
  const { client } = session;
  const input = { query: given(query) };
  switch (by) {
    case 'model': {
      const whole = await session.take(client.call('getUsageByModel', input));
      return { whole, rows: whole.data.map((row) => ({ ...row, label: row.model_id })) };
    }
    case 'team': {
      const whole = await session.take(client.call('getUsageByTeam', input));
      return { whole, rows: whole.data.map((row) => ({ ...row, label: row.team_name ?? '(no team)' })) };
    }
    case 'service': {
      const whole = await session.take(client.call('getUsageByService', input));
      return {
        whole,
        rows: whole.data.map((row) => ({ ...row, label: row.service_name ?? '(no service)' })),
      };
    }
    case 'user': {
      const whole = await session.take(client.call('getUsageByUser', input));
      return { whole, rows: whole.data.map((row) => ({ ...row, label: row.user })) };
    }
    case 'customer': {
      const whole = await session.take(client.call('getUsageByEndCustomer', input));
      return { whole, rows: whole.data.map((row) => ({ ...row, label: row.end_customer })) };
    }
  }
}

function showBars(session: Session, title: string, rows: Figures[], total: number): void {
  const costs = rows.map((row) => row.cost_microdollars);
  const highest = Math.max(...costs);
  const decimals = decimalsFor(costs);
  // A name cut short says less than a short bar does.
  const nameCells = Math.max(...rows.map((row) => widthOf(row.label)));
  const room = (session.out.width ?? Number.POSITIVE_INFINITY) - FIGURES_CELLS - nameCells;
  const barCells = Math.min(BAR_CELLS, Math.max(MIN_BAR_CELLS, room));
  const columns: Column<Figures>[] = [
    { title, of: (row) => row.label, flexible: true },
    { title: 'REQUESTS', of: (row) => count(row.requests), right: true },
    { title: 'TOKENS IN', minor: true, of: (row) => count(row.tokens_input), right: true },
    { title: 'TOKENS OUT', minor: true, of: (row) => count(row.tokens_output), right: true },
    { title: 'COST', of: (row) => money(row.cost_microdollars, decimals), right: true },
    {
      title: 'SHARE',
      minor: true,
      of: (row) => (total === 0 ? '-' : percent(row.cost_microdollars / total)),
      right: true,
    },
    {
      title: '',
      of: (row) => bar(row.cost_microdollars, highest, barCells),
      paint: (text, _row, colours) => colours.cyan(text),
    },
  ];
  session.out.table(columns, rows);
}

/** Only what the user gave: an empty field would be a filter of its own. */
function given(query: Query): Partial<Record<keyof Query, string>> {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined));
}
