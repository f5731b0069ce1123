import { type Static, Type } from 'typebox';
import { Alert } from './alerts.ts';
import { Microdollars, nullable, operation, Timestamp, Usd, Uuid } from './operation.ts';

export const TAIL_HEARTBEAT_SECONDS = 15;
/** How far back `Last-Event-ID` reaches. */
export const TAIL_RESUME_EVENTS = 1_000;

/** PostgreSQL holds any text but the one with a NUL in it. */
const filterText = (description: string) =>
  Type.Optional(Type.String({ maxLength: 256, pattern: '^[^\\u0000]*$', description }));

export const TailRequest = Type.Object({
  type: Type.Literal('request'),
  id: Uuid,
  provider: Type.String(),
  model_id: nullable(Type.String({ description: 'the model that answered' })),
  model_requested: nullable(Type.String()),
  tokens_input: Type.Integer(),
  tokens_output: Type.Integer(),
  cost_microdollars: Microdollars,
  cost_usd: Usd,
  team: nullable(Type.String({ description: 'its name' })),
  service: nullable(Type.String()),
  user: nullable(Type.String()),
  end_customer: nullable(Type.String()),
  agent: nullable(Type.String()),
  environment: Type.String(),
  status_code: Type.Integer(),
  latency_ms: Type.Integer(),
  created_at: Timestamp,
});

/** The alert itself. A kill switch that was put on comes this way too, with `alert_type` `kill_switch`. */
export const TailAlert = Type.Object({
  ...Alert.properties,
  type: Type.Literal('alert'),
  alert_type: Type.String(),
  acknowledged_at: Type.Optional(nullable(Timestamp)),
});

export const TailHeartbeat = Type.Object({ type: Type.Literal('heartbeat') });

/** Sent as `event: gap`: so many events lie too far back to be told. */
export const TailGap = Type.Object({ type: Type.Literal('gap'), missed: Type.Integer() });

/** Sent as `event: overflow`, the last word to a reader that reads too slowly. */
export const TailOverflow = Type.Object({ type: Type.Literal('overflow'), message: Type.String() });

/** The JSON of one `data:` line. */
export const TailEvent = Type.Union([TailRequest, TailAlert, TailHeartbeat, TailGap, TailOverflow]);
export type TailEvent = Static<typeof TailEvent>;

export const streamOperations = {
  openTail: operation({
    method: 'GET',
    path: '/v1/stream/tail',
    auth: 'tenant',
    tag: 'Live tail',
    summary:
      'Every proxied request and every alert as it happens, as server-sent events: each has an id, and Last-Event-ID resumes after it, over the last 1,000; a heartbeat comes every 15 seconds; who reads too slowly gets a last event “overflow”',
    query: Type.Object({
      team: filterText('only requests of this team: its name, slug or id'),
      service: filterText('only requests of this service'),
      model: filterText('only requests that asked for this model or were answered by it'),
      min_cost: Type.Optional(
        Type.Integer({ minimum: 0, description: 'only requests that cost so many microdollars, or more' }),
      ),
    }),
    success: 200,
    response: null,
    streams: 'sse',
    refusals: ['too_many_readers', 'unavailable'],
  }),
};
