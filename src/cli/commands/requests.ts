import type { Command } from 'commander';
import { defaultsTo, describeCommand, runs } from '../command.ts';
import { readDay, readWholeNumber, refuseBackwards } from '../flags.ts';
import { count, decimalsFor, duration, grouped, moment, money } from '../format.ts';
import type { Host } from '../host.ts';
import type { Session } from '../session.ts';
import { findTeamId } from './teams.ts';

const DEFAULT_ROWS = 20;
const MAX_ROWS = 100;

interface ListOptions {
  team?: string;
  service?: string;
  model?: string;
  user?: string;
  customer?: string;
  status?: number;
  from?: string;
  to?: string;
  limit: number;
}

export function requestsCommand(host: Host): Command {
  const group = describeCommand({
    usage: 'requests',
    summary: 'The request log, newest first',
    examples: ['gw requests', 'gw requests --team platform --limit 50', 'gw requests show <id>'],
  });
  return defaultsTo(group, listCommand(host)).addCommand(showCommand(host));
}

function listCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'list',
    summary: 'The newest requests (what gw requests does)',
    aliases: ['ls'],
    examples: [
      'gw requests --service checkout --status 429',
      'gw requests --from 2026-01-01 --to 2026-01-31 --json',
    ],
  })
    .option('--team <team>', 'id, slug or name of a team')
    .option('--service <service>', 'a service name')
    .option('--model <model>', 'a model id')
    .option('--user <user>', 'a user name, exactly')
    .option('--customer <customer>', 'an end customer, exactly')
    .option('--status <code>', 'the HTTP status answered', readWholeNumber(100, 999))
    .option('--from <day>', 'first UTC day, YYYY-MM-DD', readDay)
    .option('--to <day>', 'last UTC day, YYYY-MM-DD', readDay)
    .option('--limit <rows>', `how many, at most ${MAX_ROWS}`, readWholeNumber(1, MAX_ROWS), DEFAULT_ROWS);
  return runs<ListOptions>(host, command, listRequests);
}

async function listRequests(session: Session, options: ListOptions): Promise<void> {
  const { out, client } = session;
  refuseBackwards(options.from, options.to, 'gw requests --help');
  const query = {
    limit: options.limit,
    ...(options.team !== undefined && { team_id: await findTeamId(session, options.team) }),
    ...(options.service !== undefined && { service: options.service }),
    ...(options.model !== undefined && { model: options.model }),
    ...(options.user !== undefined && { user: options.user }),
    ...(options.customer !== undefined && { end_customer: options.customer }),
    ...(options.status !== undefined && { status: options.status }),
    ...(options.from !== undefined && { from: options.from }),
    ...(options.to !== undefined && { to: options.to }),
  };
  const page = await session.take(client.call('listRequests', { query }));
  if (session.json) return out.json(page);
  if (page.data.length === 0) {
    return out.note(
      Object.keys(query).length > 1
        ? 'No requests match. Models are known by the id they were served as: gw cost --by model'
        : 'No requests yet. They appear here seconds after the proxy answers them.',
    );
  }
  const decimals = decimalsFor(page.data.map((row) => row.cost_microdollars));
  out.table(
    [
      { title: 'TIME (UTC)', of: (row) => moment(row.created_at) },
      {
        title: 'STATUS',
        minor: true,
        of: (row) => String(row.status_code),
        right: true,
        paint: (text, row, colours) => (row.status_code >= 400 ? colours.red(text) : colours.green(text)),
      },
      { title: 'PROVIDER', minor: true, of: (row) => row.provider },
      { title: 'MODEL', of: (row) => row.model_id ?? '-', flexible: true },
      { title: 'SERVICE', minor: true, of: (row) => row.service_name ?? '-', flexible: true },
      { title: 'IN', minor: true, of: (row) => count(row.tokens_input), right: true },
      { title: 'OUT', minor: true, of: (row) => count(row.tokens_output), right: true },
      {
        title: 'COST',
        of: (row) => (row.cost_status === 'unpriced' ? 'unpriced' : money(row.cost_microdollars, decimals)),
        right: true,
      },
      { title: 'LATENCY', minor: true, of: (row) => duration(row.latency_total_ms), right: true },
      { title: 'ID', of: (row) => row.id },
    ],
    page.data,
  );
  if (page.total > page.data.length) {
    out.note(`Showing ${page.data.length} of ${grouped(page.total)}. All of them: gw usage export`);
  }
}

function showCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'show <id>',
    summary: 'All that is known of one request, as JSON',
    detail: 'With its token buckets and rates, whom it is attributed to, and its place in the ledger.',
    examples: ['gw requests show <id>'],
  });
  return runs<object>(host, command, async (session, _options, [id]) => {
    session.out.json(await session.take(session.client.call('getRequest', { params: { id: id! } })));
  });
}
