import { Command, Option } from 'commander';
import { HELP_COLOURS } from './colours.ts';
import { isNameOf, unknownCommand } from './command.ts';
import type { Host } from './host.ts';

const DEFAULT_COLUMNS = 80;
const HELP_COMMAND = ['help [command]', 'help for a command'] as const;

type Make = (host: Host) => Command;
/** A command by all its names. Its file is read when it is asked for: a run needs one of them, seldom more. */
type Entry = [names: string[], load: () => Promise<Make>];

/** The whole command tree, in the order help shows it. */
const GROUPS: Array<[heading: string, entries: Entry[]]> = [
  [
    'Getting started:',
    [
      [['init'], async () => (await import('./commands/auth.ts')).initCommand],
      [['login'], async () => (await import('./commands/auth.ts')).loginCommand],
      [['logout'], async () => (await import('./commands/auth.ts')).logoutCommand],
      [['status'], async () => (await import('./commands/health.ts')).statusCommand],
      [['doctor'], async () => (await import('./commands/doctor.ts')).doctorCommand],
    ],
  ],
  [
    'Watching spend:',
    [
      [['tail'], async () => (await import('./commands/stream.ts')).tailCommand],
      [['cost'], async () => (await import('./commands/cost.ts')).costCommand],
      [['requests'], async () => (await import('./commands/requests.ts')).requestsCommand],
      [['usage'], async () => (await import('./commands/usage.ts')).usageCommand],
      [['models'], async () => (await import('./commands/models.ts')).modelsCommand],
      [['savings'], async () => (await import('./commands/savings.ts')).savingsCommand],
    ],
  ],
  [
    'Setting up:',
    [
      [['providers'], async () => (await import('./commands/provider-keys.ts')).providersCommand],
      [['keys'], async () => (await import('./commands/api-keys.ts')).keysCommand],
      [['teams'], async () => (await import('./commands/teams.ts')).teamsCommand],
      [['webhooks', 'wh'], async () => (await import('./commands/webhooks.ts')).webhooksCommand],
    ],
  ],
  [
    'Keeping in bounds:',
    [
      [['budgets'], async () => (await import('./commands/budgets.ts')).budgetsCommand],
      [['approvals'], async () => (await import('./commands/budget-approvals.ts')).approvalsCommand],
      [['quotas'], async () => (await import('./commands/spend-quotas.ts')).quotasCommand],
      [['kill'], async () => (await import('./commands/kill-switches.ts')).killCommand],
      [['alerts', 'al'], async () => (await import('./commands/alerts.ts')).alertsCommand],
    ],
  ],
  [
    'Proving it:',
    [
      [['ledger'], async () => (await import('./commands/ledger.ts')).ledgerCommand],
      [['audit'], async () => (await import('./commands/audit.ts')).auditCommand],
      [['reconcile'], async () => (await import('./commands/reconciliation.ts')).reconcileCommand],
    ],
  ],
  [
    'About gw:',
    [
      [['completion'], async () => (await import('./commands/completion.ts')).completionCommand],
      [['version'], async () => (await import('./commands/version.ts')).versionCommand],
    ],
  ],
];

/** The program without its commands. */
export function openProgram(host: Host): Command {
  const program = describeProgram(host);
  obeyHost(program, host, program);
  return program;
}

/** The one command that is named, or all of them: for help, for completion, and to find what a typo meant. */
export async function addCommands(program: Command, host: Host, argv: string[]): Promise<void> {
  const [word = '', topic] = program.parseOptions(argv).operands;
  const isNamed = ([names]: Entry) => names.includes(word);
  const needsOne = word !== 'completion' && GROUPS.some(([, entries]) => entries.some(isNamed));
  for (const [heading, entries] of GROUPS) {
    for (const [, load] of needsOne ? entries.filter(isNamed) : entries) {
      const command = (await load())(host).helpGroup(heading);
      program.addCommand(command);
      for (const one of allCommands(command)) obeyHost(one, host, program);
    }
  }
  if (
    word === 'help' &&
    topic !== undefined &&
    !program.commands.some((command) => isNameOf(command, topic))
  ) {
    throw unknownCommand(topic, program);
  }
}

function describeProgram(host: Host): Command {
  return new Command('gw')
    .commandsGroup('About gw:')
    .helpCommand(...HELP_COMMAND)
    .description('What your AI calls cost, and a hand on the brake.')
    .version(host.version, '--version', 'the version of this client')
    .option('--api-url <url>', 'the gateway to ask (default: the one in the configuration)')
    .option('--json', 'print the API’s own JSON')
    .option('--no-color', 'no colours, not even on a terminal')
    .addOption(new Option('--config <file>', 'another configuration file than ~/.gw/config.json').hideHelp())
    .addOption(
      new Option('--proxy-url <url>', 'the proxy, if it is not on port 8081 of the API’s host').hideHelp(),
    )
    .addHelpText(
      'after',
      `\n${HELP_COLOURS.bold('Examples:')}\n  $ gw init\n  $ gw cost --by team\n  $ gw tail\n\nMore on a command: gw <command> --help`,
    );
}

function allCommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(allCommands)];
}

/** Commander would print, colour and exit on its own; here the host decides all three. */
function obeyHost(command: Command, host: Host, program: Command): void {
  const width = host.stdout.columns ?? DEFAULT_COLUMNS;
  const hasColours = () => host.stdout.isTTY === true && program.opts().color !== false;
  command.helpOption('-h, --help', 'this help').configureHelp({ styleTitle: HELP_COLOURS.bold });
  if (command.commands.length > 0) command.helpCommand(...HELP_COMMAND);
  command.exitOverride().configureOutput({
    writeOut: (text) => void host.stdout.write(text),
    // Help instead of a command that was not named: it is what was asked for.
    writeErr: (text) => void host.stdout.write(text),
    // What went wrong is told once, by the one place that ends every command.
    outputError: () => {},
    getOutHelpWidth: () => width,
    getErrHelpWidth: () => width,
    getOutHasColors: hasColours,
    getErrHasColors: hasColours,
  });
}
