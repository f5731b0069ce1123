import type { Command } from 'commander';
import type { TailEvent } from '../../contract/stream.ts';
import { describeCommand, runs } from '../command.ts';
import { readMicrodollars } from '../flags.ts';
import { duration, money } from '../format.ts';
import type { Host } from '../host.ts';
import type { Session } from '../session.ts';
import { followTail, MAX_RECONNECTS } from '../tail-stream.ts';
import { cut, padEnd, padStart, showable } from '../text.ts';
import { paintSeverity } from './alerts.ts';
import { findTeamId } from './teams.ts';

const MODEL_CELLS = 26;
const PLACE_CELLS = 24;
const MIN_NAME_CELLS = 8;
/** What the columns of fixed width and all gaps take. */
const FIXED_CELLS = 49;
const COST_CELLS = 12;
const LATENCY_CELLS = 8;
/** Six decimals always: lines of a stream cannot look ahead for the smallest. */
const COST_DECIMALS = 6;

interface TailOptions {
  team?: string;
  service?: string;
  model?: string;
  minCost: number;
  alerts: boolean;
}

export function tailCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'tail',
    summary: 'Requests and alerts as they happen',
    detail: `A lost connection is taken up again where it broke, up to ${MAX_RECONNECTS} times.`,
    examples: [
      'gw tail',
      'gw tail --team platform --min-cost 0.01',
      'gw tail --model gpt-4 --no-alerts',
      'gw tail --json | jq .cost_usd',
    ],
  })
    .option('--team <team>', 'only of this team: id, slug or name')
    .option('--service <service>', 'only of this service')
    .option('--model <text>', 'only models with this in their name')
    .option('--min-cost <usd>', 'only requests that cost so much or more', readMicrodollars, 0)
    .option('--no-alerts', 'leave alerts out');
  return runs<TailOptions>(host, command, tail);
}

async function tail(session: Session, options: TailOptions): Promise<void> {
  const { out } = session;
  // Of a team that is not there nothing would ever come, and nobody would know why.
  if (options.team !== undefined) await findTeamId(session, options.team);
  const filters = {
    ...(options.team !== undefined && { team: options.team }),
    ...(options.service !== undefined && { service: options.service }),
  };
  await followTail(session, filters, (event) => {
    if (event.type === 'gap') out.warn(`${event.missed} events lie too far back to be shown.`);
    if (event.type === 'overflow') out.warn(showable(event.message));
    if (!isWanted(event, options)) return;
    if (session.json) out.line(JSON.stringify(event));
    else out.line(lineOf(session, event));
  });
}

type Shown = Extract<TailEvent, { type: 'request' | 'alert' }>;

function isWanted(event: TailEvent, options: TailOptions): event is Shown {
  if (event.type === 'alert') return options.alerts;
  if (event.type !== 'request' || event.cost_microdollars < options.minCost) return false;
  const text = options.model?.toLowerCase();
  if (text === undefined) return true;
  return [event.model_id, event.model_requested].some((name) => name?.toLowerCase().includes(text));
}

function lineOf(session: Session, event: Shown): string {
  const { colours, width } = session.out;
  // A kill switch comes as an alert too, and as itself: without a title or a time of its own.
  const alert: Partial<Extract<Shown, { type: 'alert' }>> = event.type === 'alert' ? event : {};
  const createdAt = event.created_at ?? new Date(session.host.nowMs()).toISOString();
  const time = colours.dim(createdAt.slice(11, 19));
  if (event.type === 'alert') {
    const severity = alert.severity ?? 'warning';
    const title = showable(alert.title ?? event.alert_type.replaceAll('_', ' '));
    return `${time}  ${colours.bold('alert')}  ${paintSeverity(severity, severity, colours)}  ${title}`;
  }
  const place = [event.team, event.service].filter((name) => name !== null).join('/') || '-';
  const status = String(event.status_code);
  // Both names give way alike when the terminal is too narrow for them.
  const lacking = FIXED_CELLS + MODEL_CELLS + PLACE_CELLS - (width ?? Number.POSITIVE_INFINITY);
  const missing = Math.min(PLACE_CELLS - MIN_NAME_CELLS, Math.max(0, Math.ceil(lacking / 2)));
  const cells = [
    event.status_code >= 400 ? colours.red(status) : colours.green(status),
    event.provider,
    cell(event.model_id ?? '-', MODEL_CELLS - missing),
    cell(place, PLACE_CELLS - missing),
    padStart(money(event.cost_microdollars, COST_DECIMALS), COST_CELLS),
    padStart(duration(event.latency_ms), LATENCY_CELLS),
  ];
  // Without a terminal nothing is cut, so that what is piped on is whole.
  function cell(text: string, cells: number): string {
    const plain = showable(text);
    return padEnd(width === null ? plain : cut(plain, cells), cells);
  }
  return [time, ...cells].join('  ').trimEnd();
}
