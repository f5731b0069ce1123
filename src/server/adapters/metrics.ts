import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';

const LATENCY_BUCKETS_MS = [50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000];

export interface RequestFigures {
  provider: string;
  status: number;
  refusal: string | null;
  latencyMs: number;
  costMicrodollars: number;
  tokensInput: number;
  tokensOutput: number;
}

export interface GaugeFigures {
  requestsInFlight: number;
  journalBytes: number;
  journalWritable: boolean;
  ingestLagMs: number;
  pools: Record<string, { total: number; idle: number; waiting: number }>;
}

export interface Metrics {
  countRequest(figures: RequestFigures): void;
  /** A call without a good key belongs to nobody; it is counted and nothing else. */
  countUnauthenticated(): void;
  /** Where the figures come from that are read when somebody asks. */
  readGaugesFrom(source: () => GaugeFigures): void;
  text(): Promise<string>;
}

interface ProviderTotals {
  byStatusClass: number[];
  costMicrodollars: number;
  tokensInput: number;
  tokensOutput: number;
  latencyMs: number;
  latencyCounts: number[];
}

/**
 * Prometheus metrics. Labels are providers, status classes and our own refusal codes: a bounded set. What is
 * counted for every request is plain additions; names and labels are put to it when somebody asks.
 */
export function openMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'gateway_' });
  let readGauges: () => GaugeFigures | null = () => null;
  addGauges(registry, () => readGauges());
  const providers = new Map<string, ProviderTotals>();
  const refusals = new Map<string, number>();
  let unauthenticated = 0;
  return {
    countRequest(figures) {
      let totals = providers.get(figures.provider);
      if (!totals) {
        totals = emptyTotals();
        providers.set(figures.provider, totals);
      }
      addTo(totals, figures);
      if (figures.refusal) refusals.set(figures.refusal, (refusals.get(figures.refusal) ?? 0) + 1);
    },
    countUnauthenticated() {
      unauthenticated += 1;
    },
    readGaugesFrom(source) {
      readGauges = source;
    },
    text: async () => `${requestText(providers, refusals, unauthenticated)}${await registry.metrics()}`,
  };
}

function emptyTotals(): ProviderTotals {
  return {
    byStatusClass: [0, 0, 0, 0, 0, 0],
    costMicrodollars: 0,
    tokensInput: 0,
    tokensOutput: 0,
    latencyMs: 0,
    latencyCounts: LATENCY_BUCKETS_MS.map(() => 0),
  };
}

function addTo(totals: ProviderTotals, figures: RequestFigures): void {
  totals.byStatusClass[Math.min(5, Math.floor(figures.status / 100))]! += 1;
  totals.costMicrodollars += figures.costMicrodollars;
  totals.tokensInput += figures.tokensInput;
  totals.tokensOutput += figures.tokensOutput;
  totals.latencyMs += figures.latencyMs;
  const bucket = LATENCY_BUCKETS_MS.findIndex((limit) => figures.latencyMs <= limit);
  if (bucket >= 0) totals.latencyCounts[bucket]! += 1;
}

function requestText(
  providers: ReadonlyMap<string, ProviderTotals>,
  refusals: ReadonlyMap<string, number>,
  unauthenticated: number,
): string {
  const all = [...providers];
  const family = (name: string, type: string, help: string, lines: string[]) =>
    `# HELP gateway_${name} ${help}\n# TYPE gateway_${name} ${type}\n${lines.map((line) => `gateway_${line}\n`).join('')}`;
  const statuses = all.flatMap(([provider, { byStatusClass }]) =>
    byStatusClass.flatMap((count, status) =>
      count === 0 ? [] : [`requests_total{provider="${provider}",status="${status}xx"} ${count}`],
    ),
  );
  const tokens = all.flatMap(([provider, { tokensInput, tokensOutput }]) => [
    `tokens_total{provider="${provider}",direction="input"} ${tokensInput}`,
    `tokens_total{provider="${provider}",direction="output"} ${tokensOutput}`,
  ]);
  const costs = all.map(
    ([provider, totals]) => `cost_microdollars_total{provider="${provider}"} ${totals.costMicrodollars}`,
  );
  const causes = [...refusals].map(([cause, count]) => `refusals_total{cause="${cause}"} ${count}`);
  return [
    family('requests_total', 'counter', 'Proxied calls by provider and status class.', statuses),
    family('refusals_total', 'counter', 'Calls the gateway refused itself, by cause.', causes),
    family('unauthenticated_total', 'counter', 'Calls without a good key.', [
      `unauthenticated_total ${unauthenticated}`,
    ]),
    family('cost_microdollars_total', 'counter', 'What the calls cost.', costs),
    family('tokens_total', 'counter', 'Tokens by provider and direction.', tokens),
    family(
      'request_seconds',
      'histogram',
      'How long calls took, upstream included.',
      all.flatMap(latencyLines),
    ),
  ].join('');
}

function latencyLines([provider, totals]: [string, ProviderTotals]): string[] {
  const count = totals.byStatusClass.reduce((sum, requests) => sum + requests, 0);
  let below = 0;
  const buckets = LATENCY_BUCKETS_MS.map((limit, index) => {
    below += totals.latencyCounts[index]!;
    return `request_seconds_bucket{provider="${provider}",le="${limit / 1000}"} ${below}`;
  });
  return [
    ...buckets,
    `request_seconds_bucket{provider="${provider}",le="+Inf"} ${count}`,
    `request_seconds_sum{provider="${provider}"} ${totals.latencyMs / 1000}`,
    `request_seconds_count{provider="${provider}"} ${count}`,
  ];
}

function addGauges(registry: Registry, read: () => GaugeFigures | null): void {
  const gauge = (name: string, help: string, pick: (figures: GaugeFigures) => number) =>
    new Gauge({
      name: `gateway_${name}`,
      help,
      registers: [registry],
      collect() {
        const figures = read();
        if (figures) this.set(pick(figures));
      },
    });
  gauge('requests_in_flight', 'Calls under way.', (figures) => figures.requestsInFlight);
  gauge('journal_bytes', 'Size of the journal on disk.', (figures) => figures.journalBytes);
  gauge('journal_writable', '1 while the journal takes calls.', (figures) => Number(figures.journalWritable));
  gauge(
    'ingest_lag_seconds',
    'Age of what is not in the database yet.',
    (figures) => figures.ingestLagMs / 1000,
  );
  new Gauge({
    name: 'gateway_pool_connections',
    help: 'Database connections by pool and state.',
    labelNames: ['pool', 'state'],
    registers: [registry],
    collect() {
      for (const [pool, states] of Object.entries(read()?.pools ?? {})) {
        for (const [state, count] of Object.entries(states)) this.set({ pool, state }, count);
      }
    },
  });
}
