import sql from 'sql-template-tag';
import type { ModelSighting } from '../domain/model-changes.ts';
import type { Db } from './database.ts';

/** Everything seen so far for the names that these sightings asked for, in the order of first sight. */
export async function listSightingsOfNames(
  db: Db,
  sightings: readonly ModelSighting[],
): Promise<ModelSighting[]> {
  return db.query<ModelSighting>(sql`
    select tenant_id, provider, model_requested, model_served, first_seen_at::text as first_seen_at
      from model_sightings
     where (tenant_id, provider, model_requested) in (
       select * from unnest(${sightings.map((row) => row.tenant_id)}::uuid[],
                            ${sightings.map((row) => row.provider)}::text[],
                            ${sightings.map((row) => row.model_requested)}::text[]))
     order by model_sightings.first_seen_at`);
}

export async function insertSightings(db: Db, sightings: readonly ModelSighting[]): Promise<void> {
  await db.query(sql`
    insert into model_sightings (tenant_id, provider, model_requested, model_served, first_seen_at)
    select tenant_id, provider, model_requested, model_served, first_seen_at
      from json_to_recordset(${JSON.stringify(sightings)}::json) as sighting (
        tenant_id uuid, provider text, model_requested text, model_served text, first_seen_at timestamptz)
        on conflict do nothing`);
}
