import type { Command } from 'commander';
import { describeCommand } from '../command.ts';
import type { Host } from '../host.ts';

export function versionCommand(host: Host): Command {
  return describeCommand({
    usage: 'version',
    summary: 'The version of this client',
    examples: ['gw version', 'gw --version'],
  }).action(() => void host.stdout.write(`${host.version}\n`));
}
