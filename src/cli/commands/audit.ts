import { type Command, Option } from 'commander';
import { MAX_PAGE_LIMIT } from '../../contract/operation.ts';
import { describeCommand, runs } from '../command.ts';
import { takeCsv } from '../csv-file.ts';
import { Stop } from '../exit.ts';
import { firstDayOf, readDay, readSpan, readWholeNumber, refuseBackwards } from '../flags.ts';
import { grouped, moment } from '../format.ts';
import type { Host } from '../host.ts';
import type { Session } from '../session.ts';

const DEFAULT_ROWS = 100;

interface AuditOptions {
  from?: string;
  to?: string;
  last?: number;
  format: 'table' | 'csv';
  limit: number;
}

export function auditCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'audit',
    summary: 'Who did what, newest first',
    examples: ['gw audit', 'gw audit --last 7d', 'gw audit --from 2026-01-01 --format csv > audit.csv'],
  })
    .option('--from <day>', 'first UTC day, YYYY-MM-DD', readDay)
    .option('--to <day>', 'last UTC day, YYYY-MM-DD', readDay)
    .option('--last <span>', 'instead of --from: how far back, like 12h, 30d or 4w', readSpan)
    .addOption(new Option('--format <format>', 'how to print it').choices(['table', 'csv']).default('table'))
    .option(
      '--limit <rows>',
      'rows of the table; a CSV has all of the range',
      readWholeNumber(1, MAX_PAGE_LIMIT),
      DEFAULT_ROWS,
    );
  return runs<AuditOptions>(host, command, audit);
}

async function audit(session: Session, options: AuditOptions): Promise<void> {
  const { out, client, host } = session;
  if (options.last !== undefined && options.from !== undefined) {
    throw new Stop('usage', 'Say --from or --last, not both.', 'gw audit --last 7d');
  }
  const from = options.last === undefined ? options.from : firstDayOf(options.last, host.nowMs());
  refuseBackwards(from, options.to, 'gw audit --help');
  const query = { ...(from !== undefined && { from }), ...(options.to !== undefined && { to: options.to }) };
  if (options.format === 'csv' && !session.json) {
    return takeCsv(session, client.callCsv('listAudit', { query }), undefined);
  }
  const page = await session.take(client.call('listAudit', { query: { ...query, limit: options.limit } }));
  if (session.json) return out.json(page);
  if (page.data.length === 0) return out.note('Nothing happened in that time.');
  out.table(
    [
      { title: 'TIME (UTC)', of: (entry) => moment(entry.created_at) },
      { title: 'ACTION', of: (entry) => entry.action },
      { title: 'BY', minor: true, of: (entry) => entry.actor_type },
      { title: 'IP', minor: true, of: (entry) => entry.ip_address ?? '-' },
      { title: 'RESOURCE', minor: true, of: (entry) => entry.resource_id ?? '-' },
      {
        title: 'DETAILS',
        of: (entry) => (Object.keys(entry.details).length === 0 ? '-' : JSON.stringify(entry.details)),
        flexible: true,
      },
    ],
    page.data,
  );
  if (page.total > page.data.length) {
    out.note(`Showing ${page.data.length} of ${grouped(page.total)}. All of them: gw audit --format csv`);
  }
}
