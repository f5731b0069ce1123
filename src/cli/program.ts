import { Command, Option } from 'commander';
import { alertsCommand } from './commands/alerts.ts';
import { keysCommand } from './commands/api-keys.ts';
import { auditCommand } from './commands/audit.ts';
import { initCommand, loginCommand, logoutCommand } from './commands/auth.ts';
import { approvalsCommand } from './commands/budget-approvals.ts';
import { budgetsCommand } from './commands/budgets.ts';
import { completionCommand } from './commands/completion.ts';
import { costCommand } from './commands/cost.ts';
import { doctorCommand } from './commands/doctor.ts';
import { statusCommand } from './commands/health.ts';
import { killCommand } from './commands/kill-switches.ts';
import { ledgerCommand } from './commands/ledger.ts';
import { modelsCommand } from './commands/models.ts';
import { providersCommand } from './commands/provider-keys.ts';
import { reconcileCommand } from './commands/reconciliation.ts';
import { requestsCommand } from './commands/requests.ts';
import { savingsCommand } from './commands/savings.ts';
import { quotasCommand } from './commands/spend-quotas.ts';
import { tailCommand } from './commands/stream.ts';
import { teamsCommand } from './commands/teams.ts';
import { usageCommand } from './commands/usage.ts';
import { versionCommand } from './commands/version.ts';
import { webhooksCommand } from './commands/webhooks.ts';
import type { Host } from './host.ts';

const DEFAULT_COLUMNS = 80;

/** The whole command tree, in the order help shows it. */
const GROUPS: Array<[heading: string, commands: Array<(host: Host) => Command>]> = [
  ['Getting started:', [initCommand, loginCommand, logoutCommand, statusCommand, doctorCommand]],
  [
    'Watching spend:',
    [tailCommand, costCommand, requestsCommand, usageCommand, modelsCommand, savingsCommand],
  ],
  ['Setting up:', [providersCommand, keysCommand, teamsCommand, webhooksCommand]],
  ['Keeping in bounds:', [budgetsCommand, approvalsCommand, quotasCommand, killCommand, alertsCommand]],
  ['Proving it:', [ledgerCommand, auditCommand, reconcileCommand]],
  ['About gw:', [completionCommand, versionCommand]],
];

export function buildProgram(host: Host): Command {
  const program = new Command('gw')
    .commandsGroup('About gw:')
    .helpCommand('help [command]', 'help for a command')
    .description('What your AI calls cost, and a hand on the brake.')
    .version(host.version, '--version', 'the version of this client')
    .option('--api-url <url>', 'the gateway’s management API (default: the one in the configuration)')
    .option('--json', 'print the API’s own JSON')
    .option('--no-color', 'no colours (there are none anyway unless stdout is a terminal)')
    .addOption(new Option('--config <file>', 'another configuration file than ~/.gw/config.json').hideHelp())
    .addOption(
      new Option('--proxy-url <url>', 'the proxy, if it is not on port 8081 of the API’s host').hideHelp(),
    )
    .addHelpText(
      'after',
      '\nExamples:\n  $ gw init\n  $ gw cost --by team\n  $ gw tail\n\nMore on a command: gw <command> --help',
    );
  for (const [heading, commands] of GROUPS) {
    for (const make of commands) program.addCommand(make(host).helpGroup(heading));
  }
  for (const command of allCommands(program)) obeyHost(command, host);
  return program;
}

function allCommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(allCommands)];
}

/** Commander would print, colour and exit on its own; here the host decides all three. */
function obeyHost(command: Command, host: Host): void {
  const width = host.stdout.columns ?? DEFAULT_COLUMNS;
  command.exitOverride().configureOutput({
    writeOut: (text) => void host.stdout.write(text),
    // Help instead of a command that was not named: it is what was asked for.
    writeErr: (text) => void host.stdout.write(text),
    // What went wrong is told once, by the one place that ends every command.
    outputError: () => {},
    getOutHelpWidth: () => width,
    getErrHelpWidth: () => width,
    getOutHasColors: () => false,
    getErrHasColors: () => false,
  });
}
