import type { Command } from 'commander';
import { MAX_PAGE_LIMIT } from '../../contract/operation.ts';
import type { ChainVerdict } from '../../ledger/verifier.ts';
import { describeCommand, runs } from '../command.ts';
import { takeCsv } from '../csv-file.ts';
import { Failed, Stop } from '../exit.ts';
import { readDay, readWholeNumber, refuseBackwards } from '../flags.ts';
import { count, decimalsFor, moment, money } from '../format.ts';
import type { Host } from '../host.ts';
import type { Session } from '../session.ts';
import { plural, showable } from '../text.ts';

const MAX_SEQUENCE = 999_999_999_999;
const HASH_CHARACTERS_SHOWN = 16;

export function ledgerCommand(host: Host): Command {
  return describeCommand({
    usage: 'ledger',
    summary: 'The hash-chained record of what reached a provider',
    examples: [
      'gw ledger list',
      'gw ledger verify',
      'gw ledger export -o ledger.csv',
      'gw ledger verify --file ledger.csv',
    ],
  })
    .addCommand(listCommand(host))
    .addCommand(verifyCommand(host))
    .addCommand(exportCommand(host));
}

interface ListOptions {
  limit: number;
  offset: number;
}

function listCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'list',
    summary: 'Ledger records, newest first',
    aliases: ['ls'],
    examples: ['gw ledger list', 'gw ledger list --limit 10 --offset 50'],
  })
    .option('--limit <rows>', 'how many', readWholeNumber(1, MAX_PAGE_LIMIT), 50)
    .option('--offset <rows>', 'how many to leave out', readWholeNumber(0, 1_000_000_000), 0);
  return runs<ListOptions>(host, command, listLedger);
}

async function listLedger(session: Session, options: ListOptions): Promise<void> {
  const { out, client } = session;
  const query = { limit: options.limit, offset: options.offset };
  const page = await session.take(client.call('listLedger', { query }));
  if (session.json) return out.json(page);
  if (page.data.length === 0) return out.note('No ledger records here.');
  const decimals = decimalsFor(page.data.map((record) => record.cost_microdollars));
  out.table(
    [
      { title: 'SEQ', of: (record) => String(record.sequence_number), right: true },
      { title: 'TIME (UTC)', of: (record) => moment(record.created_at) },
      { title: 'KIND', minor: true, of: (record) => record.kind },
      { title: 'PROVIDER', minor: true, of: (record) => record.provider },
      { title: 'MODEL', of: (record) => record.model_id || '-', flexible: true },
      { title: 'PATH', minor: true, of: (record) => record.hierarchy_path, flexible: true },
      { title: 'IN', minor: true, of: (record) => count(record.tokens_input), right: true },
      { title: 'OUT', minor: true, of: (record) => count(record.tokens_output), right: true },
      { title: 'COST', of: (record) => money(record.cost_microdollars, decimals), right: true },
      { title: 'HASH', of: (record) => record.record_hash.slice(0, HASH_CHARACTERS_SHOWN) },
    ],
    page.data,
  );
}

interface VerifyOptions {
  fromSeq?: number;
  toSeq?: number;
  file?: string;
}

function verifyCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'verify',
    summary: 'Check that the chain holds; exit code 1 when it does not',
    examples: [
      'gw ledger verify',
      'gw ledger verify --from-seq 1000 --to-seq 2000',
      'gw ledger verify --file ledger.csv    # offline: no server, no secret',
    ],
  })
    .option('--from-seq <number>', 'first record (default: 1)', readWholeNumber(1, MAX_SEQUENCE))
    .option('--to-seq <number>', 'last record (default: the newest)', readWholeNumber(1, MAX_SEQUENCE))
    .option('--file <csv>', 'check an exported file instead of the server’s chain');
  return runs<VerifyOptions>(host, command, verify);
}

async function verify(session: Session, options: VerifyOptions): Promise<void> {
  const { out } = session;
  let verdict: ChainVerdict;
  if ((options.fromSeq ?? 1) > (options.toSeq ?? MAX_SEQUENCE)) {
    throw new Stop('usage', 'The first record lies after the last.', 'gw ledger verify --help');
  }
  if (options.file !== undefined) {
    if (options.fromSeq !== undefined || options.toSeq !== undefined) {
      throw new Stop('usage', 'A file is checked whole.', `gw ledger verify --file ${options.file}`);
    }
    const { verifyLedgerFile } = await import('../ledger-file.ts');
    verdict = await verifyLedgerFile(session.host, options.file);
  } else {
    const query = {
      ...(options.fromSeq !== undefined && { from_seq: options.fromSeq }),
      ...(options.toSeq !== undefined && { to_seq: options.toSeq }),
    };
    verdict = await session.take(session.client.call('verifyLedger', { query }));
  }
  if (session.json) out.json(verdict);
  else out.line(verdictText(session, verdict, options.file));
  if (!verdict.valid) throw new Failed();
}

function verdictText(session: Session, verdict: ChainVerdict, file: string | undefined): string {
  const { colours } = session.out;
  const checked = plural(verdict.records_checked, 'record');
  if (!verdict.valid) {
    const reason = showable(verdict.reason ?? 'it does not hold');
    return `${colours.red('broken')}: at record ${verdict.first_invalid_sequence}: ${reason} (${checked} before it hold)`;
  }
  if (verdict.records_checked === 0) return `${colours.green('valid')}: there are no records to check`;
  const range = `${verdict.first_seq} to ${verdict.last_seq}`;
  // An export that begins later proves nothing about what came before it.
  const limit =
    file !== undefined && verdict.first_seq !== 1 ? '; what came before them is not in the file' : '';
  return `${colours.green('valid')}: ${checked}, ${range}${limit}`;
}

interface ExportOptions {
  from?: string;
  to?: string;
  output?: string;
}

function exportCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'export',
    summary: 'The chain as CSV, enough to verify it offline',
    examples: ['gw ledger export -o ledger.csv', 'gw ledger export --from 2026-01-01 > january.csv'],
  })
    .option('--from <day>', 'first UTC day, YYYY-MM-DD', readDay)
    .option('--to <day>', 'last UTC day, YYYY-MM-DD', readDay)
    .option('-o, --output <file>', 'write to this file instead of stdout');
  return runs<ExportOptions>(host, command, async (session, { output, ...query }) => {
    refuseBackwards(query.from, query.to, 'gw ledger export --help');
    await takeCsv(session, session.client.callCsv('listLedger', { query }), output);
  });
}
