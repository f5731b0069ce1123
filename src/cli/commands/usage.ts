import type { Command } from 'commander';
import { MAX_EXPORT_ROWS } from '../../contract/usage.ts';
import { describeCommand, runs } from '../command.ts';
import { takeCsv } from '../csv-file.ts';
import { readDay, refuseBackwards } from '../flags.ts';
import { grouped } from '../format.ts';
import type { Host } from '../host.ts';
import { findTeamId } from './teams.ts';

interface ExportOptions {
  from?: string;
  to?: string;
  team?: string;
  service?: string;
  model?: string;
  output?: string;
}

export function usageCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'export',
    summary: `The request log as CSV, the newest ${grouped(MAX_EXPORT_ROWS)} rows that match`,
    examples: [
      'gw usage export -o requests.csv',
      'gw usage export --from 2026-01-01 --to 2026-01-31 --team platform > january.csv',
    ],
  })
    .option('--from <day>', 'first UTC day, YYYY-MM-DD', readDay)
    .option('--to <day>', 'last UTC day, YYYY-MM-DD', readDay)
    .option('--team <team>', 'id, slug or name of a team')
    .option('--service <service>', 'a service name')
    .option('--model <model>', 'a model id')
    .option('-o, --output <file>', 'write to this file instead of stdout');
  runs<ExportOptions>(host, command, async (session, options) => {
    const { team, output, ...filters } = options;
    refuseBackwards(options.from, options.to, 'gw usage export --help');
    const query = {
      ...filters,
      ...(team !== undefined && { team_id: await findTeamId(session, team) }),
    };
    await takeCsv(session, session.client.callCsv('listRequests', { query }), output);
  });
  return describeCommand({
    usage: 'usage',
    summary: 'Usage as a file',
    examples: ['gw usage export -o requests.csv'],
  }).addCommand(command);
}
