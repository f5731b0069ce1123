import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useApi } from '../api.ts';
import { formatCount, formatMs, microdollarsOf } from '../numbers.ts';
import { type Tailed, type TailedAlert, type TailedRequest, type TailState, useTail } from '../tail.ts';
import { Badge, SeverityBadge, StatusBadge, type Tone } from '../ui/Badge.tsx';
import { Button, ButtonLink } from '../ui/Button.tsx';
import { Card } from '../ui/Card.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { Checkbox } from '../ui/Field.tsx';
import { FilterSelect, FilterText } from '../ui/Filter.tsx';
import { Money } from '../ui/Money.tsx';
import { Page } from '../ui/Page.tsx';
import { Time } from '../ui/Time.tsx';
import { useUrlState } from '../url-state.ts';

const STATES: Record<TailState, { tone: Tone; text: string }> = {
  connecting: { tone: 'neutral', text: 'connecting' },
  live: { tone: 'good', text: 'live' },
  reconnecting: { tone: 'warn', text: 'reconnecting' },
  refused: { tone: 'bad', text: 'refused' },
};

export function LivePage() {
  const [state] = useUrlState();
  const [paused, setPaused] = useState(false);
  const filter: Record<string, string> = {};
  for (const name of ['team', 'service', 'model'] as const) if (state[name]) filter[name] = state[name];
  const minCost = microdollarsOf(state.min_usd ?? '');
  if (minCost > 0) filter.min_cost = String(minCost);
  const tail = useTail(filter, paused);
  const events = state.alerts === 'off' ? tail.shown.filter(({ type }) => type === 'request') : tail.shown;
  const { tone, text } = STATES[tail.state];
  return (
    <Page
      title="Live tail"
      note="Requests and alerts as they happen."
      actions={
        <>
          <Badge tone={paused ? 'warn' : tone}>{paused ? `paused, ${tail.waiting} waiting` : text}</Badge>
          <Button onClick={() => setPaused(!paused)}>{paused ? 'Resume' : 'Pause'}</Button>
        </>
      }
    >
      <Filters />
      <Card>
        {events.length === 0 ? (
          <EmptyState
            title="Nothing has happened since you opened this page"
            action={<ButtonLink to="/connect">Send a call</ButtonLink>}
          >
            The next request that matches appears here by itself, newest on top.
          </EmptyState>
        ) : (
          <Events events={events} />
        )}
      </Card>
    </Page>
  );
}

function Filters() {
  const [state, set] = useUrlState();
  const teams = useApi('listTeams');
  return (
    <search className="flex flex-wrap items-center gap-2">
      <FilterSelect
        label="Team"
        name="team"
        any="All teams"
        choices={(teams.data ?? []).map(({ name }) => name)}
      />
      <FilterText label="Service" name="service" className="w-36" />
      <FilterText label="Model" name="model" />
      <FilterText
        label="At least so many US dollars"
        name="min_usd"
        placeholder="Min. US$"
        className="w-24"
      />
      <Checkbox
        label="Show alerts"
        checked={state.alerts !== 'off'}
        onChange={({ target }) => set({ alerts: target.checked ? undefined : 'off' })}
      />
    </search>
  );
}

function Events({ events }: { events: readonly Tailed[] }) {
  return (
    <ol aria-label="Events, newest first" className="font-mono text-[13px]">
      {events.map((event) => (
        <li
          key={`${event.type} ${event.id}`}
          className="just-in border-b border-line px-4 py-1.5 last:border-0"
        >
          {event.type === 'request' ? <RequestLine event={event} /> : <AlertLine event={event} />}
        </li>
      ))}
    </ol>
  );
}

function RequestLine({ event }: { event: TailedRequest }) {
  const who = [event.team, event.service, event.agent, event.user, event.end_customer]
    .filter(Boolean)
    .join(' · ');
  return (
    <Link
      to="/requests/$id"
      params={{ id: event.id }}
      className="grid grid-cols-[auto_auto_1fr_auto] items-center gap-x-3 md:gap-x-4 md:grid-cols-[5.5rem_3.5rem_minmax(8rem,1fr)_minmax(6rem,1.2fr)_8rem_5rem_7rem]"
    >
      <span className="text-muted">
        <Time at={event.created_at} shape="clock" />
      </span>
      <span>
        <StatusBadge status={event.status_code} />
      </span>
      <span className="truncate">{event.model_id ?? event.model_requested ?? 'no model'}</span>
      <span className="truncate text-muted max-md:hidden">{who}</span>
      <span className="numeric text-muted max-md:hidden">
        {formatCount(event.tokens_input)} → {formatCount(event.tokens_output)}
      </span>
      <span className="numeric text-muted max-md:hidden">{formatMs(event.latency_ms)}</span>
      <span className="numeric">
        <Money microdollars={event.cost_microdollars} exact />
      </span>
    </Link>
  );
}

function AlertLine({ event }: { event: TailedAlert }) {
  return (
    <Link to="/alerts" className="flex items-center gap-4">
      <span className="text-muted">
        <Time at={event.created_at} shape="clock" />
      </span>
      <SeverityBadge severity={event.severity} />
      <span className="min-w-0 flex-1 font-sans">{event.title}</span>
    </Link>
  );
}
