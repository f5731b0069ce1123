import type { Command } from 'commander';
import { defaultOf } from './command.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** What can follow one place of the command tree. */
interface Place {
  /** Commands that lead here, each as `keys list`; the root is the empty text. */
  path: string;
  /** The same place by its other names. */
  aliases: string[];
  /** Commands, or the words an argument can be. */
  commands: Array<{ name: string; summary: string }>;
  flags: Array<{ name: string; summary: string; takesValue: boolean; choices: readonly string[] }>;
}

/** The script of a shell, made from the very commands it completes. */
export function completionScript(program: Command, shell: Shell): string {
  const places = placesOf(program, program, '', []);
  switch (shell) {
    case 'bash':
      return bashScript(places);
    case 'zsh':
      return zshScript(places);
    case 'fish':
      return fishScript(places);
  }
}

function placesOf(program: Command, command: Command, path: string, aliases: string[]): Place[] {
  const own = command === program ? [] : [...command.options, ...(defaultOf(command)?.options ?? [])];
  const words = command.registeredArguments.flatMap((argument) => argument.argChoices ?? []);
  const place: Place = {
    path,
    aliases,
    commands: [
      ...command.commands.map((child) => ({ name: child.name(), summary: oneLine(child.summary()) })),
      ...words.map((name) => ({ name, summary: oneLine(command.summary()) })),
    ],
    flags: [
      ...[...own, ...program.options]
        .filter((option) => option.long !== undefined && !option.hidden)
        .map((option) => ({
          name: option.long!,
          summary: oneLine(option.description),
          takesValue: option.required || option.optional,
          choices: option.argChoices ?? [],
        })),
      { name: '--help', summary: 'this help', takesValue: false, choices: [] },
    ],
  };
  const deeper = command.commands.flatMap((child) => {
    const under = (name: string) => `${path} ${name}`.trimStart();
    return placesOf(program, child, under(child.name()), child.aliases().map(under));
  });
  return [place, ...deeper];
}

function bashScript(places: Place[]): string {
  return `# bash completion for gw. Load it with: eval "$(gw completion bash)"
_gw() {
  local at='' word i cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} words=''
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="$at\${at:+ }\${COMP_WORDS[i]}"
    case "$word" in
${moves(places, '      ')}
    esac
  done
  case "$at $prev" in
${values(places, (choices) => `words='${choices.join(' ')}'`)}
    *) case "$at" in
${places.map(({ path, commands, flags }) => `      '${path}') words='${[...commands, ...flags].map(({ name }) => name).join(' ')}' ;;`).join('\n')}
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _gw gw
`;
}

function zshScript(places: Place[]): string {
  const described = (items: Array<{ name: string; summary: string }>) =>
    items.map(({ name, summary }) => `'${name}:${summary}'`).join(' ');
  return `#compdef gw
# zsh completion for gw. Load it with: eval "$(gw completion zsh)"
_gw() {
  local at='' word i prev=\${words[CURRENT-1]}
  local -a items
  for ((i = 2; i < CURRENT; i++)); do
    word="$at\${at:+ }\${words[i]}"
    case "$word" in
${moves(places, '      ')}
    esac
  done
  case "$at $prev" in
${values(places, (choices) => `items=(${choices.join(' ')})`)}
    *) case "$at" in
${places.map(({ path, commands, flags }) => `      '${path}') items=(${described([...commands, ...flags])}) ;;`).join('\n')}
    esac ;;
  esac
  _describe 'gw' items || _files
}
compdef _gw gw
`;
}

function fishScript(places: Place[]): string {
  const lines = places.flatMap(({ path, commands, flags }) => [
    ...commands.map(
      ({ name, summary }) => `complete -c gw -n '__gw_at "${path}"' -f -a '${name}' -d '${summary}'`,
    ),
    ...flags.map(({ name, summary, takesValue, choices }) => {
      const value = choices.length > 0 ? ` -x -a '${choices.join(' ')}'` : takesValue ? ' -r' : '';
      return `complete -c gw -n '__gw_at "${path}"' -l '${name.slice(2)}'${value} -d '${summary}'`;
    }),
  ]);
  return `# fish completion for gw. Load it with: gw completion fish | source
function __gw_at
  set -l at ''
  for word in (commandline -opc)[2..-1]
    set -l next (string trim "$at $word")
    switch "$next"
${places
  .filter(({ path }) => path !== '')
  .map(
    ({ path, aliases }) =>
      `      case ${[path, ...aliases].map((name) => `'${name}'`).join(' ')}\n        set at '${path}'`,
  )
  .join('\n')}
    end
  end
  test "$at" = "$argv[1]"
end
${lines.join('\n')}
`;
}

/** From place to place by each command word, aliases included. */
function moves(places: Place[], indent: string): string {
  return places
    .filter(({ path }) => path !== '')
    .map(
      ({ path, aliases }) =>
        `${indent}${[path, ...aliases].map((name) => `'${name}'`).join('|')}) at='${path}' ;;`,
    )
    .join('\n');
}

/** After a flag that takes one of a few values come those values. */
function values(places: Place[], give: (choices: readonly string[]) => string): string {
  return places
    .flatMap(({ path, flags }) =>
      flags
        .filter(({ choices }) => choices.length > 0)
        .map(({ name, choices }) => `    '${path} ${name}') ${give(choices)} ;;`),
    )
    .join('\n');
}

/** Texts stand between single quotes. */
function oneLine(text: string): string {
  return text.replaceAll("'", '’').replaceAll('\n', ' ');
}
