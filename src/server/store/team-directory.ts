import { validate as isUuid } from 'uuid';
import { makeTeamDirectory, type Team } from '../domain/attribution.ts';
import type { Db } from './database.ts';
import { listTeams } from './teams.ts';

/** The live team that answers to an id, slug or name, by the rule that requests are attributed with. */
export async function findTeamByText(db: Db, tenantId: string, text: string): Promise<Team | null> {
  const oldestFirst = (await listTeams(db, tenantId)).reverse();
  return makeTeamDirectory(oldestFirst).get(isUuid(text) ? text.toLowerCase() : text) ?? null;
}
