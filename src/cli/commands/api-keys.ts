import { type Command, Option } from 'commander';
import { ENVIRONMENTS } from '../../contract/api-keys.ts';
import { confirmed, describeCommand, runs, YES_FLAG } from '../command.ts';
import { age } from '../format.ts';
import type { Host } from '../host.ts';
import type { Session } from '../session.ts';
import { findTeamId, teamNames } from './teams.ts';

export function keysCommand(host: Host): Command {
  return describeCommand({
    usage: 'keys',
    summary: 'Keys your applications call the proxy with',
    examples: ['gw keys list', 'gw keys create --name checkout', 'gw keys revoke <id>'],
  })
    .addCommand(listCommand(host))
    .addCommand(createCommand(host))
    .addCommand(revokeCommand(host));
}

function listCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'list',
    summary: 'All keys, never their values',
    aliases: ['ls'],
    examples: ['gw keys list', 'gw keys list --json'],
  });
  return runs<object>(host, command, listKeys);
}

async function listKeys(session: Session): Promise<void> {
  const { out, client } = session;
  const keys = await session.take(client.call('listApiKeys'));
  if (session.json) return out.json(keys);
  if (keys.length === 0) return out.note('No keys yet. Next: gw keys create --name <name>');
  const teams = keys.some((key) => key.team_id !== null)
    ? await teamNames(session)
    : new Map<string, string>();
  const nowMs = session.host.nowMs();
  out.table(
    [
      { title: 'NAME', of: (key) => key.name, flexible: true },
      { title: 'PREFIX', of: (key) => key.key_prefix },
      { title: 'ENV', minor: true, of: (key) => key.environment },
      { title: 'TEAM', minor: true, of: (key) => teams.get(key.team_id ?? '') ?? '-', flexible: true },
      { title: 'SERVICE', minor: true, of: (key) => key.service_name ?? '-', flexible: true },
      {
        title: 'LAST USED',
        minor: true,
        of: (key) => (key.last_used_at ? age(key.last_used_at, nowMs) : 'never'),
      },
      {
        title: 'STATE',
        of: (key) => (key.revoked_at ? 'revoked' : 'active'),
        paint: (text, key, colours) => (key.revoked_at ? colours.dim(text) : colours.green(text)),
      },
      { title: 'REVOKED', minor: true, of: (key) => age(key.revoked_at, nowMs) },
      { title: 'ID', of: (key) => key.id },
    ],
    keys,
  );
}

interface CreateOptions {
  name: string;
  env?: (typeof ENVIRONMENTS)[number];
  team?: string;
  service?: string;
}

function createCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'create',
    summary: 'Create a key; its value is printed this once',
    examples: [
      'gw keys create --name checkout',
      'gw keys create --name ci --env test --team platform',
      'KEY=$(gw keys create --name checkout)',
    ],
  })
    .requiredOption('--name <name>', 'what the key is for')
    .addOption(new Option('--env <environment>', 'environment (default: production)').choices(ENVIRONMENTS))
    .option('--team <team>', 'id, slug or name of the team it spends for')
    .option('--service <service>', 'service it spends for');
  return runs<CreateOptions>(host, command, createKey);
}

async function createKey(session: Session, options: CreateOptions): Promise<void> {
  const { out, client } = session;
  const made = await session.take(
    client.call('createApiKey', {
      body: {
        name: options.name,
        environment: options.env ?? session.config.default_environment,
        ...(options.team !== undefined && { team_id: await findTeamId(session, options.team) }),
        ...(options.service !== undefined && { service_name: options.service }),
      },
    }),
  );
  if (session.json) out.json(made);
  else out.line(made.key);
  out.done(`Created the ${made.environment} key ${made.name} (${made.id}). Keep it: it is not shown again.`);
}

function revokeCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'revoke <id>',
    summary: 'Revoke a key; the proxy refuses it at once',
    aliases: ['rm'],
    examples: ['gw keys revoke <id>', 'gw keys revoke <id> --yes'],
  }).option(...YES_FLAG);
  return runs<{ yes?: boolean }>(host, command, async (session, options, [id]) => {
    await confirmed(session, `Revoke the key ${id}? Applications that use it stop working.`, options.yes);
    await session.take(session.client.call('revokeApiKey', { params: { id: id! } }));
    session.out.done(`Revoked the key ${id}.`);
  });
}
