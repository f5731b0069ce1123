import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

const LATENCY_BUCKETS_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

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

/** Prometheus metrics. Labels are providers, status classes and our own refusal codes: a bounded set. */
export function openMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, prefix: 'gateway_' });
  const counter = (name: string, help: string, labelNames: string[] = []) =>
    new Counter({ name: `gateway_${name}`, help, labelNames, registers });
  const requests = counter('requests_total', 'Proxied calls by provider and status class.', [
    'provider',
    'status',
  ]);
  const refusals = counter('refusals_total', 'Calls the gateway refused itself, by cause.', ['cause']);
  const unauthenticated = counter('unauthenticated_total', 'Calls without a good key.');
  const cost = counter('cost_microdollars_total', 'What the calls cost.', ['provider']);
  const tokens = counter('tokens_total', 'Tokens by provider and direction.', ['provider', 'direction']);
  const latency = new Histogram({
    name: 'gateway_request_seconds',
    help: 'How long calls took, upstream included.',
    labelNames: ['provider'],
    buckets: LATENCY_BUCKETS_SECONDS,
    registers,
  });
  let readGauges: () => GaugeFigures | null = () => null;
  addGauges(registry, () => readGauges());
  return {
    countRequest(figures) {
      requests.inc({ provider: figures.provider, status: `${Math.floor(figures.status / 100)}xx` });
      latency.observe({ provider: figures.provider }, figures.latencyMs / 1000);
      if (figures.refusal) refusals.inc({ cause: figures.refusal });
      if (figures.costMicrodollars > 0) cost.inc({ provider: figures.provider }, figures.costMicrodollars);
      if (figures.tokensInput > 0)
        tokens.inc({ provider: figures.provider, direction: 'input' }, figures.tokensInput);
      if (figures.tokensOutput > 0)
        tokens.inc({ provider: figures.provider, direction: 'output' }, figures.tokensOutput);
    },
    countUnauthenticated: () => unauthenticated.inc(),
    readGaugesFrom(source) {
      readGauges = source;
    },
    text: () => registry.metrics(),
  };
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
