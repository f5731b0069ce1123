import { useState } from 'react';
import { KILL_EVERYTHING, KILL_SCOPES, MAX_ACTIVE_KILL_SWITCHES } from '../../contract/kill-switches.ts';
import { type RowOf, useAction, useApi } from '../api.ts';
import { Badge } from '../ui/Badge.tsx';
import { Button } from '../ui/Button.tsx';
import { Card } from '../ui/Card.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { Field, formTexts, Select } from '../ui/Field.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Page } from '../ui/Page.tsx';
import { type Column, Table } from '../ui/Table.tsx';
import { Age } from '../ui/Time.tsx';

type KillSwitch = RowOf<'listKillSwitches'>;
type Scope = (typeof KILL_SCOPES)[number];

const SCOPE_LABELS: Record<Scope, string> = {
  all: 'Everything',
  team: 'A team',
  service: 'A service',
  agent: 'An agent',
  api_key: 'A gateway key',
};

function target(row: KillSwitch): string {
  return row.scope_type === 'all' ? 'Everything' : `${row.scope_type.replace('_', ' ')} ${row.scope_value}`;
}

export function KillSwitchesPage() {
  const [asking, setAsking] = useState(false);
  const switches = useApi('listKillSwitches', undefined, { refetchInterval: 5_000 });
  return (
    <Page
      title="Kill switches"
      note={`Stops matching calls before they reach a provider; they are answered 451. At most ${MAX_ACTIVE_KILL_SWITCHES} at a time.`}
      actions={
        <Button look="danger" onClick={() => setAsking(true)}>
          Stop traffic
        </Button>
      }
    >
      <Card title="In force">
        <Loaded query={switches}>
          {(rows) => (
            <SwitchTable
              label="Kill switches in force"
              rows={rows.filter((row) => row.deactivated_at === null)}
              empty={<EmptyState title="Traffic flows">No kill switch is in force.</EmptyState>}
            />
          )}
        </Loaded>
      </Card>
      <Card title="Lifted">
        <Loaded query={switches}>
          {(rows) => (
            <SwitchTable
              label="Lifted kill switches"
              rows={rows.filter((row) => row.deactivated_at !== null)}
              empty={
                <EmptyState title="None yet">
                  Every switch that was lifted stays listed here, with who put it on and why.
                </EmptyState>
              }
            />
          )}
        </Loaded>
      </Card>
      <KillDialog open={asking} onClose={() => setAsking(false)} />
    </Page>
  );
}

function SwitchTable({
  label,
  rows,
  empty,
}: {
  label: string;
  rows: readonly KillSwitch[];
  empty: React.ReactNode;
}) {
  const lift = useAction('deactivateKillSwitch', {
    refreshes: ['listKillSwitches'],
    done: 'Lifted: traffic flows again.',
  });
  const columns: Column<KillSwitch>[] = [
    { head: 'Stops', cell: (row) => <span className="font-medium">{target(row)}</span> },
    { head: 'Reason', cell: (row) => row.reason || <span className="text-muted">none given</span> },
    { head: 'By', from: 'md', cell: (row) => row.activated_by },
    { head: 'Since', cell: (row) => <Age at={row.activated_at} /> },
    {
      head: 'State',
      numeric: true,
      cell: (row) =>
        row.deactivated_at ? (
          <Badge>
            lifted&nbsp;
            <Age at={row.deactivated_at} />
          </Badge>
        ) : (
          <Button
            small
            aria-label={`Lift the switch on ${target(row)}`}
            busy={lift.isPending}
            onClick={() => lift.mutate({ params: { id: row.id } })}
          >
            Lift
          </Button>
        ),
    },
  ];
  return <Table label={label} columns={columns} rows={rows} rowKey={(row) => row.id} empty={empty} />;
}

function KillDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const [scope, setScope] = useState<Scope>('service');
  const activate = useAction('activateKillSwitch', {
    refreshes: ['listKillSwitches', 'listAlerts'],
    done: 'Stopped: matching calls are answered 451 from now on.',
  });
  return (
    <Dialog
      title="Stop traffic"
      note="In force at once here, and on every other node within a second."
      open={open}
      onClose={onClose}
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          const { scope_value = '', reason = '' } = formTexts(event.currentTarget);
          const body = {
            scope_type: scope,
            scope_value: scope === 'all' ? KILL_EVERYTHING : scope_value,
            reason,
          };
          activate.mutate({ body }, { onSuccess: onClose });
        }}
      >
        <Select
          label="What to stop"
          value={scope}
          choices={KILL_SCOPES.map((value) => ({ value, label: SCOPE_LABELS[value] }))}
          onChange={(event) => setScope(event.target.value as Scope)}
        />
        <ScopeValue scope={scope} />
        <Field
          label="Reason"
          name="reason"
          maxLength={500}
          placeholder="runaway loop in the nightly job"
          hint="Stands in the audit log and in the alert."
          required
        />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="danger" busy={activate.isPending}>
            {scope === 'all' ? 'Stop everything' : 'Stop it now'}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function ScopeValue({ scope }: { scope: Scope }) {
  const teams = useApi('listTeams');
  const keys = useApi('listApiKeys');
  if (scope === 'all') {
    return (
      <p className="rounded-lg bg-bad-soft px-3 py-2 text-bad">
        Every call of this account will be refused until the switch is lifted.
      </p>
    );
  }
  if (scope === 'team') {
    return (
      <Select
        label="Team"
        name="scope_value"
        choices={(teams.data ?? []).map(({ id, name }) => ({ value: id, label: name }))}
        required
      />
    );
  }
  if (scope === 'api_key') {
    const live = (keys.data ?? []).filter(({ revoked_at }) => revoked_at === null);
    return (
      <Select
        label="Gateway key"
        name="scope_value"
        choices={live.map(({ id, name, key_prefix }) => ({ value: id, label: `${name} (${key_prefix}…)` }))}
        required
      />
    );
  }
  return <Field label={scope === 'service' ? 'Service' : 'Agent'} name="scope_value" required />;
}
