import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type RowOf, useAction, useApi } from '../api.ts';
import { Button } from '../ui/Button.tsx';
import { Card } from '../ui/Card.tsx';
import { ConfirmButton } from '../ui/Confirm.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { Field, formTexts } from '../ui/Field.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Money } from '../ui/Money.tsx';
import { Page } from '../ui/Page.tsx';
import { type Column, Table } from '../ui/Table.tsx';
import { Time } from '../ui/Time.tsx';

type Team = RowOf<'listTeams'>;

export function TeamsPage() {
  const [editing, setEditing] = useState<Team | 'new' | null>(null);
  const teams = useApi('listTeams');
  return (
    <Page
      title="Teams"
      note="Calls name their team in X-Gateway-Team, or their key does."
      actions={
        <Button look="primary" onClick={() => setEditing('new')}>
          Create team
        </Button>
      }
    >
      <Card>
        <Loaded query={teams}>{(rows) => <TeamTable rows={rows} onEdit={setEditing} />}</Loaded>
      </Card>
      {editing !== null && (
        <TeamDialog team={editing === 'new' ? null : editing} onClose={() => setEditing(null)} />
      )}
    </Page>
  );
}

function TeamTable({ rows, onEdit }: { rows: readonly Team[]; onEdit: (team: Team | 'new') => void }) {
  const remove = useAction('deleteTeam', { refreshes: ['listTeams'], done: 'The team is deleted.' });
  const usage = useApi('getUsageByTeam');
  const spend = new Map(usage.data?.data.map((row) => [row.team_id, row.cost_microdollars]));
  const columns: Column<Team>[] = [
    {
      head: 'Name',
      cell: (team) => (
        <Link
          to="/requests"
          search={{ team_id: team.id } as never}
          className="font-medium text-accent underline-offset-2 hover:underline"
        >
          {team.name}
        </Link>
      ),
    },
    { head: 'Slug', from: 'sm', cell: (team) => <code className="font-mono text-muted">{team.slug}</code> },
    {
      head: 'Cost center',
      from: 'sm',
      cell: (team) => team.cost_center ?? <span className="text-faint">–</span>,
    },
    { head: 'Created', from: 'md', cell: (team) => <Time at={team.created_at} shape="longDay" /> },
    { head: 'Last 30 days', numeric: true, cell: (team) => <Money microdollars={spend.get(team.id) ?? 0} /> },
    {
      head: 'Actions',
      hideHead: true,
      numeric: true,
      cell: (team) => (
        <span className="inline-flex gap-1">
          <Button small look="quiet" aria-label={`Change ${team.name}`} onClick={() => onEdit(team)}>
            Change
          </Button>
          <ConfirmButton
            label="Delete"
            accessibleLabel={`Delete ${team.name}`}
            title={`Delete ${team.name}?`}
            confirm="Delete team"
            onConfirm={() => remove.mutateAsync({ params: { id: team.id } })}
          >
            What it spent stays in the records. Calls that name it are counted without a team from now on.
          </ConfirmButton>
        </span>
      ),
    },
  ];
  return (
    <Table
      label="Teams"
      columns={columns}
      rows={rows}
      rowKey={(team) => team.id}
      empty={
        <EmptyState
          title="No teams yet"
          action={
            <Button look="primary" onClick={() => onEdit('new')}>
              Create the first team
            </Button>
          }
        >
          Teams tell spend apart, carry budgets, and can be stopped with one switch.
        </EmptyState>
      }
    />
  );
}

function TeamDialog({ team, onClose }: { team: Team | null; onClose: () => void }) {
  const create = useAction('createTeam', { refreshes: ['listTeams'], done: 'The team is created.' });
  const update = useAction('updateTeam', { refreshes: ['listTeams'], done: 'Saved.' });
  return (
    <Dialog title={team ? `Change ${team.name}` : 'Create team'} open onClose={onClose}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          const { name = '', slug, cost_center } = formTexts(event.currentTarget);
          const body = { name, ...(slug && { slug }), cost_center: cost_center || null };
          if (team) update.mutate({ params: { id: team.id }, body }, { onSuccess: onClose });
          else create.mutate({ body }, { onSuccess: onClose });
        }}
      >
        <Field label="Name" name="name" defaultValue={team?.name} required autoFocus />
        <Field
          label="Slug"
          name="slug"
          defaultValue={team?.slug}
          placeholder="made from the name"
          pattern="[a-z0-9]+(-[a-z0-9]+)*"
          hint="Lower-case letters, digits and single dashes."
        />
        <Field
          label="Cost center"
          name="cost_center"
          defaultValue={team?.cost_center ?? ''}
          placeholder="optional"
        />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={create.isPending || update.isPending}>
            {team ? 'Save' : 'Create team'}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
