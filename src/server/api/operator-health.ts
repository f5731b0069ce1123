import type { ResponseOf } from '../../contract/operation.ts';
import type { operatorOperations } from '../../contract/operator.ts';
import { nextCronMs } from '../domain/cron.ts';
import { type JobRunRow, listJobRuns } from '../store/job-runs.ts';
import { listQueueDepths, type QueueDepth } from '../store/platform.ts';
import { listPriceSources, type PriceSourceRow } from '../store/pricing-candidates.ts';
import type { ApiParts, NodeStatus } from './parts.ts';

type Health = ResponseOf<(typeof operatorOperations)['getPlatformHealth']>;

/** A due job that waits longer than this has no worker to take it. */
const MAX_READY_SECONDS = 60;
/** Records that wait longer than this for the database are late for the charts. */
const MAX_INGEST_LAG_MS = 30_000;
/** Beyond this share of its room the journal is close to turning requests away. */
const MAX_JOURNAL_SHARE = 0.8;

export async function readPlatformHealth(parts: ApiParts): Promise<Health> {
  const nowMs = parts.nowMs();
  const { runs, depths, sources } = await parts.database.asSystem(async (db) => ({
    runs: await listJobRuns(db),
    depths: await listQueueDepths(db),
    sources: await listPriceSources(db),
  }));
  const node = parts.nodeStatus?.() ?? null;
  const jobs = runs.map((run) => showJob(run, nowMs));
  const queues = depths.map(showQueue);
  const problems = [
    ...jobProblems(jobs),
    ...queueProblems(queues),
    ...nodeProblems(node),
    ...sourceProblems(sources),
  ];
  return {
    status: problems.length === 0 ? 'ok' : 'degraded',
    problems,
    version: parts.version,
    timestamp: new Date(nowMs).toISOString(),
    pools: { api: parts.database.stats(), ...node?.pools },
    jobs,
    queues,
    node: node && {
      node_id: node.nodeId,
      role: node.role,
      started_at: new Date(node.startedAtMs).toISOString(),
      requests_in_flight: node.requestsInFlight,
      journal: node.journal && {
        records_pending: node.journal.recordsPending,
        bytes: node.journal.bytes,
        max_bytes: node.journal.maxBytes,
      },
      ingest: node.ingest && { lag_ms: node.ingest.lagMs, last_error: node.ingest.lastError },
    },
    nodes: (node?.nodes ?? []).map((known) => ({
      node_id: known.nodeId,
      role: known.role,
      last_seen_at: known.lastSeenAtMs === null ? null : new Date(known.lastSeenAtMs).toISOString(),
    })),
  };
}

function showJob(run: JobRunRow, nowMs: number): Health['jobs'][number] {
  const nextMs = nextCronMs(run.schedule, nowMs);
  const started = run.last_started_at?.getTime() ?? 0;
  return {
    name: run.name,
    schedule: run.schedule,
    last_started_at: run.last_started_at?.toISOString() ?? null,
    last_finished_at: run.last_finished_at?.toISOString() ?? null,
    last_error: run.last_error,
    last_duration_ms: run.last_duration_ms,
    running: started > (run.last_finished_at?.getTime() ?? 0),
    next_run_at: nextMs === null ? null : new Date(nextMs).toISOString(),
  };
}

/** The queue keeps its own time, so how long a job has been due is measured against the real clock. */
function showQueue({ oldest_ready_at, ...depth }: QueueDepth): Health['queues'][number] {
  const waitedMs = oldest_ready_at === null ? null : Date.now() - oldest_ready_at.getTime();
  return {
    ...depth,
    oldest_ready_seconds: waitedMs === null ? null : Math.max(0, Math.round(waitedMs / 1000)),
  };
}

function jobProblems(jobs: Health['jobs']): string[] {
  const failed = jobs.filter((job) => job.last_error !== null);
  return failed.map((job) => `the job ${job.name} failed: ${job.last_error}`);
}

function queueProblems(queues: Health['queues']): string[] {
  return queues.flatMap((queue) => {
    const problems: string[] = [];
    if (queue.failed > 0) problems.push(`${queue.failed} ${queue.task} jobs were given up`);
    const waited = queue.oldest_ready_seconds;
    if (waited !== null && waited > MAX_READY_SECONDS) {
      problems.push(`a ${queue.task} job has been waiting for a worker for ${waited} seconds`);
    }
    return problems;
  });
}

function sourceProblems(sources: readonly PriceSourceRow[]): string[] {
  return sources.flatMap(({ source, last_error }) =>
    last_error === null ? [] : [`the price source ${source}: ${last_error}`],
  );
}

function nodeProblems(node: NodeStatus | null): string[] {
  const problems: string[] = [];
  if (node?.ingest?.lastError) problems.push(`the ingest fails: ${node.ingest.lastError}`);
  if ((node?.ingest?.lagMs ?? 0) > MAX_INGEST_LAG_MS) {
    problems.push(`records wait ${Math.round(node!.ingest!.lagMs! / 1000)} seconds for the database`);
  }
  if (node?.journal && node.journal.bytes > node.journal.maxBytes * MAX_JOURNAL_SHARE) {
    problems.push('the journal is nearly full');
  }
  return problems;
}
