import type { Command } from 'commander';
import { describeCommand, runs } from '../command.ts';
import { Stop } from '../exit.ts';
import { age } from '../format.ts';
import type { Host } from '../host.ts';
import type { Session } from '../session.ts';

export function teamsCommand(host: Host): Command {
  return describeCommand({
    usage: 'teams',
    summary: 'Teams that spend',
    examples: ['gw teams list', 'gw teams create --name Platform --cost-center CC-104'],
  })
    .addCommand(listCommand(host))
    .addCommand(createCommand(host));
}

function listCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'list',
    summary: 'All teams',
    aliases: ['ls'],
    examples: ['gw teams list', 'gw teams list --json'],
  });
  return runs<object>(host, command, async (session) => {
    const { out } = session;
    const teams = await session.take(session.client.call('listTeams'));
    if (session.json) return out.json(teams);
    if (teams.length === 0) return out.note('No teams yet. Next: gw teams create --name <name>');
    out.table(
      [
        { title: 'NAME', of: (team) => team.name, flexible: true },
        { title: 'SLUG', of: (team) => team.slug, flexible: true },
        { title: 'COST CENTER', of: (team) => team.cost_center ?? '-', flexible: true },
        { title: 'CREATED', minor: true, of: (team) => age(team.created_at, session.host.nowMs()) },
        { title: 'ID', of: (team) => team.id },
      ],
      teams,
    );
  });
}

interface CreateOptions {
  name: string;
  costCenter?: string;
}

function createCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'create',
    summary: 'Create a team',
    examples: ['gw teams create --name Platform', 'gw teams create --name Research --cost-center CC-7'],
  })
    .requiredOption('--name <name>', 'name of the team')
    .option('--cost-center <code>', 'where its spend is booked');
  return runs<CreateOptions>(host, command, async (session, options) => {
    const { out } = session;
    const body = {
      name: options.name,
      ...(options.costCenter !== undefined && { cost_center: options.costCenter }),
    };
    const team = await session.take(session.client.call('createTeam', { body }));
    if (session.json) out.json(team);
    else out.line(team.id);
    out.done(`Created the team ${team.name} (${team.slug}).`);
  });
}

/** People name a team by its id, slug or name; reports want the id. */
export async function findTeamId(session: Session, text: string): Promise<string> {
  const teams = await session.take(session.client.call('listTeams'));
  const wanted = text.toLowerCase();
  const found =
    teams.find((team) => team.id === wanted || team.slug === wanted) ??
    teams.find((team) => team.name.toLowerCase() === wanted);
  if (found) return found.id;
  throw new Stop('not_found', `There is no team “${text}”.`, 'gw teams list');
}

export async function teamNames(session: Session): Promise<Map<string, string>> {
  const teams = await session.take(session.client.call('listTeams'));
  return new Map(teams.map((team) => [team.id, team.name]));
}
