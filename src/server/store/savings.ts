import sql, { join, type Sql } from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { Provider } from '../../contract/providers.ts';
import {
  CACHE_LIFETIME_MINUTES,
  DUPLICATE_WINDOW_MINUTES,
  type FindingType,
  LONG_PREFIX_TOKENS,
  PREFIX_TOKENS,
  type SavingsDraft,
  SHORT_INPUT_TOKENS,
  SHORT_OUTPUT_TOKENS,
  SMALL_TOKENS,
  type TraitTotals,
} from '../domain/savings.ts';
import type { Db } from './database.ts';

/** Records can come late, after a database was away; past this an hour is taken to be complete. */
const HOUR_SETTLES_AFTER = '6 hours';

export interface FindingRow {
  id: string;
  finding_type: FindingType;
  provider: Provider;
  model_id: string;
  service_name: string;
  period_start: Date;
  period_end: Date;
  current_cost_microdollars: number;
  optimized_cost_microdollars: number;
  savings_microdollars: number;
  recommendation_text: string;
  dismissed: boolean;
  created_at: Date;
}

const FINDING = sql`
  id, finding_type, provider, model_id, service_name, period_start, period_end, current_cost_microdollars,
  optimized_cost_microdollars, savings_microdollars, recommendation_text, dismissed_at is not null as dismissed,
  created_at`;

export async function listFindings(
  db: Db,
  tenantId: string,
  options: { includeDismissed: boolean },
): Promise<FindingRow[]> {
  return db.query<FindingRow>(sql`
    select ${FINDING} from savings_findings
     where tenant_id = ${tenantId} and (${options.includeDismissed} or dismissed_at is null)
     order by savings_microdollars desc, id`);
}

/** Dismissing twice is dismissing once. */
export async function dismissFinding(
  db: Db,
  tenantId: string,
  id: string,
  at: Date,
): Promise<FindingRow | null> {
  const rows = await db.query<FindingRow>(sql`
    update savings_findings set dismissed_at = coalesce(dismissed_at, ${at})
     where tenant_id = ${tenantId} and id = ${id}
    returning ${FINDING}`);
  return rows[0] ?? null;
}

/**
 * What the analysis found now takes the place of what it found before. A finding that stands keeps its id and
 * its first day; a dismissed one is not touched, whatever is found.
 */
export async function replaceFindings(
  db: Db,
  tenantId: string,
  period: { from: Date; to: Date },
  drafts: readonly SavingsDraft[],
): Promise<void> {
  const rows = JSON.stringify(drafts.map((draft) => ({ ...draft, id: uuidv7() })));
  await db.query(sql`
    with draft as (
      select * from json_to_recordset(${rows}::json) as draft (
        id uuid, finding_type text, provider text, model_id text, service_name text,
        current_cost_microdollars bigint, optimized_cost_microdollars bigint, savings_microdollars bigint,
        recommendation_text text)
    ),
    gone as (
      delete from savings_findings
       where tenant_id = ${tenantId} and dismissed_at is null
         and (finding_type, provider, model_id, service_name) not in (
           select finding_type, provider, model_id, service_name from draft)
    )
    insert into savings_findings as standing (
      tenant_id, id, finding_type, provider, model_id, service_name, period_start, period_end,
      current_cost_microdollars, optimized_cost_microdollars, savings_microdollars, recommendation_text, created_at)
    select ${tenantId}, id, finding_type, provider, model_id, service_name, ${period.from}, ${period.to},
           current_cost_microdollars, optimized_cost_microdollars, savings_microdollars, recommendation_text,
           ${period.to}
      from draft
        on conflict (tenant_id, finding_type, provider, model_id, service_name)
        do update set period_start = excluded.period_start,
                      period_end = excluded.period_end,
                      current_cost_microdollars = excluded.current_cost_microdollars,
                      optimized_cost_microdollars = excluded.optimized_cost_microdollars,
                      savings_microdollars = excluded.savings_microdollars,
                      recommendation_text = excluded.recommendation_text
        where standing.dismissed_at is null`);
}

/** A span of whole hours, the end excluded. */
export interface HourSpan {
  from: Date;
  to: Date;
}

/**
 * The hours of a period that are not summed yet, or were before they were complete; oldest first, each with about
 * how many requests it has.
 */
export async function listUnsummedHours(
  db: Db,
  period: HourSpan,
): Promise<Array<{ hour: Date; requests: number }>> {
  return db.query<{ hour: Date; requests: number }>(sql`
    with busy as (
      select day, sum(requests) / 24 as requests from usage_daily
       where day >= (${period.from}::timestamptz at time zone 'UTC')::date
       group by day
    )
    select hour, coalesce(ceil(busy.requests), 0)::bigint as requests
      from generate_series(${period.from}::timestamptz, ${period.to}::timestamptz, interval '1 hour') hour
      left join savings_hours summed using (hour)
      left join busy on busy.day = (hour at time zone 'UTC')::date
     where summed_at is null or summed_at < hour + interval '1 hour' + ${HOUR_SETTLES_AFTER}::interval
     order by hour`);
}

/**
 * Sums some hours of the request log by trait, for every tenant, in place of what was summed of them before.
 */
export async function sumHours(db: Db, span: HourSpan, summedAt: Date): Promise<void> {
  // Locks the hours: of two analyses at once, the second sums them again after the first.
  await db.query(sql`
    insert into savings_hours (hour, summed_at)
    select hour, ${summedAt}
      from generate_series(${span.from}::timestamptz, ${span.to}::timestamptz - interval '1 hour', interval '1 hour') hour
        on conflict (hour) do update set summed_at = excluded.summed_at`);
  await db.query(sql`delete from savings_traits where hour >= ${span.from} and hour < ${span.to}`);
  // The rows of a span are sorted three times over; this keeps that in memory.
  await db.query(sql`set local work_mem = '64MB'`);
  // What a crash takes away is summed again; the disk has better to do than to wait for this.
  await db.query(sql`set local synchronous_commit = off`);
  // The planner takes the lanes for many and would sort the requests once more to meet them.
  await db.query(sql`set local enable_mergejoin = off`);
  await db.query(sql`
    with active as (
      select distinct tenant_id from usage_months
       where month between date_trunc('month', ${span.from}::timestamptz at time zone 'UTC' - interval '1 hour')
                       and date_trunc('month', ${span.to}::timestamptz at time zone 'UTC' + interval '1 hour')
    ),
    request as materialized (${requestsAround(span)}),
    lane as materialized (${LANES}),
    spaced as (${SPACED}),
    judged as materialized (${judgedWithin(span)}),
    summed as (${join(TRAITS.map(sumTrait), ' union all ')})
    insert into savings_traits (
      tenant_id, hour, provider, model_id, service_name, trait, requests, cost_microdollars, tokens_fresh,
      tokens_cached, tokens_written_5m, tokens_written_1h, tokens_output, repeats, repeats_cost_microdollars,
      repeats_tokens, firsts_tokens)
    select tenant_id, hour, provider, model_id, service_name, trait, requests, cost_microdollars, tokens_fresh,
           tokens_cached, tokens_written_5m, tokens_written_1h, tokens_output, repeats, repeats_cost_microdollars,
           repeats_tokens, firsts_tokens
      from summed
      join lane using (lane)
      join models on models.id = lane.model`);
}

interface Trait {
  trait: string;
  /** Which requests have it. */
  holds: Sql;
  /** Which of them repeat an earlier one. */
  repeats: Sql;
  /** How many tokens a repetition could have read from a cache, and the first one would have had to write. */
  readable: Sql;
  writable: Sql;
}

const NEVER = { repeats: sql`false`, readable: sql`0`, writable: sql`0` };
const ALL_INPUT = sql`fresh + cached + written_5m + written_1h`;

const TRAITS: readonly Trait[] = [
  { trait: 'plain', holds: sql`plain`, ...NEVER },
  {
    trait: 'short',
    holds: sql`plain and ${ALL_INPUT} <= ${SHORT_INPUT_TOKENS} and tokens_output <= ${SHORT_OUTPUT_TOKENS}`,
    ...NEVER,
  },
  {
    trait: 'small',
    holds: sql`plain and not stream and ${ALL_INPUT} + tokens_output <= ${SMALL_TOKENS}`,
    ...NEVER,
  },
  {
    trait: 'cacheable',
    holds: sql`plain and cached + written_5m + written_1h = 0 and greatest(readable, readable_later) > 0`,
    repeats: sql`readable > 0`,
    readable: sql`readable`,
    writable: sql`greatest(readable_later - readable, 0)`,
  },
  { trait: 'duplicate', holds: sql`repeats_prompt or is_repeated`, ...NEVER, repeats: sql`repeats_prompt` },
];

/** One plain sum for each trait: unfolding every request into its traits takes the server several times as long. */
function sumTrait({ trait, holds, repeats, readable, writable }: Trait): Sql {
  return sql`
      select lane, hour, ${trait} as trait, count(*) as requests, sum(cost_microdollars) as cost_microdollars,
             sum(fresh) as tokens_fresh, sum(cached) as tokens_cached, sum(written_5m) as tokens_written_5m,
             sum(written_1h) as tokens_written_1h, sum(tokens_output) as tokens_output,
             count(*) filter (where ${repeats}) as repeats,
             coalesce(sum(cost_microdollars) filter (where ${repeats}), 0) as repeats_cost_microdollars,
             sum(${readable}) as repeats_tokens, sum(${writable}) as firsts_tokens
        from judged where ${holds} group by lane, hour`;
}

/**
 * Each tenant's requests are found by the primary key, with some minutes on both sides of the span, so that a
 * repetition across its bounds is seen.
 */
function requestsAround(span: HourSpan): Sql {
  return sql`
      select logged.*, prices.model
        from active
       cross join lateral (
         select tenant_id, id, created_at, coalesce(service_name, '') as service_name, cost_microdollars, stream,
                price_id, prompt_fingerprint, prefix_fingerprint, long_prefix_fingerprint,
                input as fresh, cached_read as cached, cache_write_5m as written_5m, cache_write_1h as written_1h,
                tokens_output,
                service_tier is null and audio_input + image_input + audio_output + image_output + citation
                  + audio_milliseconds + web_searches = 0 and search_context is null as plain
           from requests
          cross join lateral jsonb_to_record(usage) as counted (
            input bigint, cached_read bigint, cache_write_5m bigint, cache_write_1h bigint, audio_input bigint,
            image_input bigint, audio_output bigint, image_output bigint, citation bigint,
            audio_milliseconds bigint, web_searches bigint, search_context text)
          where requests.tenant_id = active.tenant_id
            and id >= first_id_at(${span.from}::timestamptz - make_interval(mins => ${DUPLICATE_WINDOW_MINUTES}))
            and id < first_id_at(${span.to}::timestamptz + make_interval(mins => ${DUPLICATE_WINDOW_MINUTES}))
            and cost_status = 'priced' and status_code between 200 and 299) logged
        join prices on prices.id = logged.price_id`;
}

/** A number for each tenant, model and service that occur together: sorting by it is far cheaper than by them. */
const LANES = sql`
      select tenant_id, model, service_name, (row_number() over ())::integer as lane
        from (select distinct tenant_id, model, service_name from request) together`;

/**
 * When the same prompt, or the same beginning, was sent before and after each request. The fingerprint stands first
 * in the order, because its first bytes already tell two rows apart.
 */
const SPACED = sql`
      select lane, created_at, cost_microdollars, stream, fresh, cached, written_5m, written_1h, tokens_output,
             plain,
             prompt_fingerprint is not null as has_prompt,
             prefix_fingerprint is not null and fresh >= ${PREFIX_TOKENS}::bigint as has_prefix,
             long_prefix_fingerprint is not null and fresh >= ${LONG_PREFIX_TOKENS}::bigint as has_long_prefix,
             lag(created_at) over same_prompt as prompt_before,
             lead(created_at) over same_prompt as prompt_after,
             lag(created_at) over same_prefix as prefix_before,
             lead(created_at) over same_prefix as prefix_after,
             lag(created_at) over same_long_prefix as long_prefix_before,
             lead(created_at) over same_long_prefix as long_prefix_after
        from request
        join lane using (tenant_id, model, service_name)
      window same_prompt as (partition by prompt_fingerprint, lane order by id),
             same_prefix as (partition by prefix_fingerprint, lane order by id),
             same_long_prefix as (partition by long_prefix_fingerprint, lane order by id)`;

/** What each request of the span could have read from a cache, or should have written for a later one. */
function judgedWithin(span: HourSpan): Sql {
  const duplicate = sql`make_interval(mins => ${DUPLICATE_WINDOW_MINUTES})`;
  const cached = sql`make_interval(mins => ${CACHE_LIFETIME_MINUTES})`;
  return sql`
      select lane, cost_microdollars, stream, fresh, cached, written_5m, written_1h, tokens_output, plain,
             date_bin('1 hour', created_at, ${span.from}) as hour,
             has_prompt and coalesce(prompt_before >= created_at - ${duplicate}, false) as repeats_prompt,
             has_prompt and coalesce(prompt_after <= created_at + ${duplicate}, false) as is_repeated,
             case when has_long_prefix and long_prefix_before >= created_at - ${cached}
                  then ${LONG_PREFIX_TOKENS}::bigint
                  when has_prefix and prefix_before >= created_at - ${cached} then ${PREFIX_TOKENS}::bigint
                  else 0 end as readable,
             case when has_long_prefix and long_prefix_after <= created_at + ${cached}
                  then ${LONG_PREFIX_TOKENS}::bigint
                  when has_prefix and prefix_after <= created_at + ${cached} then ${PREFIX_TOKENS}::bigint
                  else 0 end as readable_later
        from spaced
       where created_at >= ${span.from} and created_at < ${span.to}`;
}

export async function listTenantsWithTraits(db: Db, from: Date): Promise<string[]> {
  const rows = await db.query<{ tenant_id: string }>(sql`
    select tenant_id from savings_traits where hour >= ${from}
     union
    select tenant_id from savings_findings where dismissed_at is null
     order by tenant_id`);
  return rows.map((row) => row.tenant_id);
}

export async function sumTraits(db: Db, tenantId: string, from: Date): Promise<TraitTotals[]> {
  return db.query<TraitTotals>(sql`
    select provider, model_id, service_name, trait,
           sum(requests)::bigint as requests,
           sum(cost_microdollars)::bigint as cost_microdollars,
           sum(tokens_fresh)::bigint as tokens_fresh,
           sum(tokens_cached)::bigint as tokens_cached,
           sum(tokens_written_5m)::bigint as tokens_written_5m,
           sum(tokens_written_1h)::bigint as tokens_written_1h,
           sum(tokens_output)::bigint as tokens_output,
           sum(repeats)::bigint as repeats,
           sum(repeats_cost_microdollars)::bigint as repeats_cost_microdollars,
           sum(repeats_tokens)::bigint as repeats_tokens,
           sum(firsts_tokens)::bigint as firsts_tokens
      from savings_traits
     where tenant_id = ${tenantId} and hour >= ${from}
     group by provider, model_id, service_name, trait
     order by provider, model_id, service_name, trait`);
}

export async function deleteOldTraits(db: Db, before: Date): Promise<void> {
  await db.query(sql`delete from savings_traits where hour < ${before}`);
  await db.query(sql`delete from savings_hours where hour < ${before}`);
}
