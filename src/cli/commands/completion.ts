import { Argument, type Command } from 'commander';
import { describeCommand } from '../command.ts';
import { completionScript, SHELLS, type Shell } from '../completion.ts';
import type { Host } from '../host.ts';

export function completionCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'completion',
    summary: 'Let your shell complete commands and flags',
    examples: [
      'eval "$(gw completion bash)"     # in ~/.bashrc',
      'eval "$(gw completion zsh)"      # in ~/.zshrc',
      'gw completion fish | source      # in ~/.config/fish/config.fish',
    ],
  }).addArgument(new Argument('<shell>', 'your shell').choices(SHELLS));
  return command.action((shell: Shell) => {
    host.stdout.write(completionScript(command.parent!, shell));
  });
}
