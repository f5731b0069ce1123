import type { Command } from 'commander';
import { PROVIDER_LABELS, PROVIDER_PATH_NAMES, PROVIDERS, type Provider } from '../../contract/providers.ts';
import { confirmed, describeCommand, runs, YES_FLAG } from '../command.ts';
import { Stop } from '../exit.ts';
import { age } from '../format.ts';
import type { Host } from '../host.ts';
import { showable } from '../text.ts';

export function providersCommand(host: Host): Command {
  return describeCommand({
    usage: 'providers',
    summary: 'Provider keys the proxy calls with',
    examples: ['gw providers list', 'gw providers add prov_a', 'gw providers delete <id>'],
  })
    .addCommand(listCommand(host))
    .addCommand(addCommand(host))
    .addCommand(deleteCommand(host));
}

function listCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'list',
    summary: 'Which providers have a key; never the key itself',
    aliases: ['ls'],
    examples: ['gw providers list', 'gw providers list --json'],
  });
  return runs<object>(host, command, async (session) => {
    const { out } = session;
    const keys = await session.take(session.client.call('listProviderKeys'));
    if (session.json) return out.json(keys);
    if (keys.length === 0) return out.note('No provider keys yet. Next: gw providers add <provider>');
    const nowMs = session.host.nowMs();
    out.table(
      [
        { title: 'PROVIDER', of: (key) => key.provider },
        { title: 'LABEL', of: (key) => PROVIDER_LABELS[key.provider], flexible: true },
        { title: 'VERSION', minor: true, of: (key) => String(key.key_version), right: true },
        {
          title: 'ROTATED',
          minor: true,
          of: (key) => (key.last_rotated_at ? age(key.last_rotated_at, nowMs) : 'never'),
        },
        { title: 'CREATED', minor: true, of: (key) => age(key.created_at, nowMs) },
        { title: 'ID', of: (key) => key.id },
      ],
      keys,
    );
  });
}

function addCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'add <provider>',
    summary: 'Store or rotate a provider’s key',
    detail: 'The key is asked for, hidden, or read from what is piped in.',
    examples: ['gw providers add prov_a', 'gw providers add anthropic', 'gw providers add prov_c < key.txt'],
  });
  return runs<object>(host, command, async (session, _options, [given]) => {
    const provider = readProvider(given!, 'gw providers add --help');
    const key = await session.prompts.secret(`Key of ${PROVIDER_LABELS[provider]}`);
    if (key === '')
      throw new Stop('key_required', 'The provider key is required.', `gw providers add ${given}`);
    const stored = await session.take(session.client.call('storeProviderKey', { body: { provider, key } }));
    if (session.json) session.out.json(stored);
    else session.out.line(stored.id);
    const how =
      stored.key_version > 1
        ? `Rotated the key of ${provider} to version ${stored.key_version}`
        : `Stored the key of ${provider}`;
    session.out.done(`${how}.`);
  });
}

function deleteCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'delete <id>',
    summary: 'Remove a provider’s key',
    detail: 'Calls to that provider fail until there is another.',
    aliases: ['rm'],
    examples: ['gw providers delete <id>', 'gw providers rm <id> --yes'],
  }).option(...YES_FLAG);
  return runs<{ yes?: boolean }>(host, command, async (session, options, [id]) => {
    await confirmed(session, `Remove the provider key ${id}?`, options.yes);
    await session.take(session.client.call('revokeProviderKey', { params: { id: id! } }));
    session.out.done(`Removed the provider key ${id}.`);
  });
}

/** People may say openai where the API says prov_a. */
export function readProvider(text: string, help: string): Provider {
  const provider = Object.hasOwn(PROVIDER_PATH_NAMES, text) ? PROVIDER_PATH_NAMES[text] : undefined;
  if (provider) return provider;
  const names = PROVIDERS.map((name) => `${name} (${PROVIDER_LABELS[name]})`).join(', ');
  throw new Stop('invalid_provider', `“${showable(text)}” is no provider; there are ${names}.`, help);
}
