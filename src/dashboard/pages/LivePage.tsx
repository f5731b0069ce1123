import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useApi } from '../api.ts';
import { formatCount, formatMs, microdollarsOf } from '../numbers.ts';
import { type Tailed, type TailedAlert, type TailedRequest, type TailState, useTail } from '../tail.ts';
import { Badge, SeverityBadge, StatusBadge, type Tone } from '../ui/Badge.tsx';
import { Button, ButtonLink } from '../ui/Button.tsx';
import { Card } from '../ui/Card.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { Checkbox, Field, Select } from '../ui/Field.tsx';
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
  const [state, set] = useUrlState();
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
      <Filters state={state} set={set} />
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

function Filters({
  state,
  set,
}: {
  state: Record<string, string | undefined>;
  set: (patch: Record<string, string | undefined>) => void;
}) {
  const teams = useApi('listTeams');
  const onEnter = (name: string) => ({
    defaultValue: state[name],
    onBlur: (event: { target: { value: string } }) => set({ [name]: event.target.value }),
    onKeyDown: (event: { key: string; currentTarget: { value: string } }) =>
      event.key === 'Enter' && set({ [name]: event.currentTarget.value }),
  });
  return (
    <search className="flex flex-wrap items-center gap-2">
      <Select
        bare
        label="Team"
        value={state.team ?? ''}
        choices={[
          { value: '', label: 'All teams' },
          ...(teams.data ?? []).map(({ name }) => ({ value: name, label: name })),
        ]}
        onChange={({ target }) => set({ team: target.value })}
      />
      <Field bare label="Service" placeholder="Service" className="w-36" {...onEnter('service')} />
      <Field bare label="Model" placeholder="Model" className="w-40" {...onEnter('model')} />
      <Field
        bare
        label="At least so many US dollars"
        placeholder="Min. US$"
        inputMode="decimal"
        className="w-24"
        {...onEnter('min_usd')}
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
      className="grid grid-cols-[auto_1fr_auto] items-center gap-x-4 md:grid-cols-[5.5rem_3.5rem_minmax(8rem,1fr)_minmax(6rem,1.2fr)_8rem_5rem_7rem]"
    >
      <span className="text-muted">
        <Time at={event.created_at} shape="clock" />
      </span>
      <span className="max-md:hidden">
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
