import { useState } from 'react';
import { MIN_PASSWORD_CHARACTERS } from '../../contract/auth.ts';
import { useAction, useApi } from '../api.ts';
import { formatCount, formatPercent } from '../numbers.ts';
import type { Account } from '../session.ts';
import { Button } from '../ui/Button.tsx';
import { Card, Facts } from '../ui/Card.tsx';
import { ConfirmButton } from '../ui/Confirm.tsx';
import { Checkbox, Field, formTexts } from '../ui/Field.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Meter } from '../ui/Meter.tsx';
import { Page } from '../ui/Page.tsx';
import { ThemeSwitch, ZoneSwitch } from '../ui/Switches.tsx';
import { Time } from '../ui/Time.tsx';

const REFRESHED = ['getAccount'] as const;

export function SettingsPage() {
  const account = useApi('getAccount');
  return (
    <Page title="Settings">
      <Loaded query={account}>
        {(data) => (
          <div className="grid items-start gap-4 lg:grid-cols-2">
            <div className="flex flex-col gap-4">
              <Profile account={data} />
              <Password />
              <Display />
            </div>
            <div className="flex flex-col gap-4">
              <Plan account={data} />
              <Messages account={data} />
              <Chat account={data} />
              <DataShare account={data} />
              <CloseAccount />
            </div>
          </div>
        )}
      </Loaded>
    </Page>
  );
}

function Profile({ account }: { account: Account }) {
  const update = useAction('updateAccount', { refreshes: REFRESHED, done: 'Saved.' });
  return (
    <Card title="Account">
      <form
        className="flex flex-col gap-4 p-4"
        onSubmit={(event) => {
          event.preventDefault();
          update.mutate({ body: { name: formTexts(event.currentTarget).name ?? '' } });
        }}
      >
        <Field label="Name" name="name" defaultValue={account.name} required />
        <Field
          label="E-mail"
          value={account.email}
          readOnly
          hint={
            <>
              Log-in and alerts go here. Account opened <Time at={account.created_at} shape="longDay" />.
            </>
          }
        />
        <div>
          <Button type="submit" busy={update.isPending}>
            Save name
          </Button>
        </div>
      </form>
    </Card>
  );
}

function Plan({ account }: { account: Account }) {
  const { subscription } = account;
  const share =
    subscription.included_requests === 0 ? 0 : subscription.used_requests / subscription.included_requests;
  return (
    <Card title="Plan">
      <Facts
        rows={[
          ['Plan', subscription.plan_tier],
          ['Status', subscription.status],
          ['Period began', <Time key="start" at={subscription.current_period_start} shape="longDay" />],
          [
            'Requests',
            `${formatCount(subscription.used_requests)} of ${formatCount(subscription.included_requests)} included, ${formatPercent(share, 0)}`,
          ],
        ]}
      />
      <div className="flex flex-col gap-2 px-4 pb-4">
        <Meter label="Included requests used" share={share} />
        <p className="text-[13px] text-muted">Traffic is never blocked when they are used up.</p>
      </div>
    </Card>
  );
}

/** Shows at once what was chosen, and what the server holds as soon as it has said so. */
function SavedCheckbox({
  label,
  saved,
  onSave,
}: {
  label: string;
  saved: boolean;
  onSave: (next: boolean) => Promise<unknown>;
}) {
  const [chosen, setChosen] = useState<boolean | null>(null);
  const save = (next: boolean) => {
    setChosen(next);
    const done = () => setChosen(null);
    onSave(next).then(done, done);
  };
  return (
    <Checkbox
      label={label}
      checked={chosen ?? saved}
      aria-busy={chosen !== null}
      onChange={(event) => save(event.target.checked)}
    />
  );
}

function Messages({ account }: { account: Account }) {
  const update = useAction('updateAccount', { refreshes: REFRESHED, done: 'Saved.' });
  return (
    <Card title="Weekly digest">
      <div className="p-4">
        <SavedCheckbox
          label="Mail me a summary of the week every Monday"
          saved={account.digest_enabled}
          onSave={(digest_enabled) => update.mutateAsync({ body: { digest_enabled } })}
        />
      </div>
    </Card>
  );
}

function Chat({ account }: { account: Account }) {
  const set = useAction('setChatWebhook', {
    refreshes: REFRESHED,
    done: 'Alerts go to the chat from now on.',
  });
  const remove = useAction('removeChatWebhook', {
    refreshes: REFRESHED,
    done: 'The chat webhook is removed.',
  });
  return (
    <Card title="Chat" note="Alerts as messages in a channel of yours">
      {account.chat_webhook_url ? (
        <div className="flex flex-wrap items-center justify-between gap-3 p-4">
          <code className="font-mono text-[13px] [overflow-wrap:anywhere]">{account.chat_webhook_url}</code>
          <Button small look="danger-quiet" busy={remove.isPending} onClick={() => remove.mutate({})}>
            Remove
          </Button>
        </div>
      ) : (
        <form
          className="flex flex-col gap-4 p-4"
          onSubmit={(event) => {
            event.preventDefault();
            set.mutate({ body: { webhook_url: formTexts(event.currentTarget).webhook_url ?? '' } });
          }}
        >
          <Field
            label="Incoming-webhook address"
            name="webhook_url"
            type="url"
            placeholder="https://hooks.slack.com/services/…"
            required
          />
          <div>
            <Button type="submit" busy={set.isPending}>
              Connect chat
            </Button>
          </div>
        </form>
      )}
    </Card>
  );
}

function Password() {
  const [round, setRound] = useState(0);
  const update = useAction('updateAccount', {
    refreshes: REFRESHED,
    done: 'The password is changed; every other session has ended.',
  });
  return (
    <Card title="Password">
      <form
        key={round}
        className="flex flex-col gap-4 p-4"
        onSubmit={(event) => {
          event.preventDefault();
          const { current_password = '', new_password = '' } = formTexts(event.currentTarget);
          update.mutate(
            { body: { current_password, new_password } },
            { onSuccess: () => setRound(round + 1) },
          );
        }}
      >
        <Field
          label="Current password"
          name="current_password"
          type="password"
          autoComplete="current-password"
          required
        />
        <Field
          label="New password"
          name="new_password"
          type="password"
          autoComplete="new-password"
          minLength={MIN_PASSWORD_CHARACTERS}
          hint={`At least ${MIN_PASSWORD_CHARACTERS} characters. Every other session ends.`}
          required
        />
        <div>
          <Button type="submit" busy={update.isPending}>
            Change password
          </Button>
        </div>
      </form>
    </Card>
  );
}

function Display() {
  return (
    <Card title="Display" note="On this machine">
      <div className="flex flex-col gap-3 p-4">
        <div>
          <p className="mb-1 text-[13px] font-medium">Times are shown in</p>
          <ZoneSwitch />
        </div>
        <div>
          <p className="mb-1 text-[13px] font-medium">Theme</p>
          <ThemeSwitch />
        </div>
        <p className="text-[13px] text-muted">
          Days in charts and ranges are UTC days either way: that is how spend is kept.
        </p>
      </div>
    </Card>
  );
}

function DataShare({ account }: { account: Account }) {
  const set = useAction('setDataShare', { refreshes: REFRESHED, done: 'Saved.' });
  return (
    <Card title="Public cost index">
      <div className="flex flex-col gap-2 p-4">
        <SavedCheckbox
          label="Take part with what my requests cost"
          saved={account.data_share_enabled}
          onSave={(enabled) => set.mutateAsync({ body: { enabled } })}
        />
        <p className="text-[13px] text-muted">
          Only figures per model and day, and only where at least three accounts take part. No names, no
          texts.
        </p>
      </div>
    </Card>
  );
}

function CloseAccount() {
  const close = useAction('deleteAccount', { refreshes: [] });
  return (
    <Card title="Close account">
      <div className="flex flex-wrap items-center justify-between gap-3 p-4">
        <p className="text-muted">Keys are refused at once and log-in ends. Records are kept.</p>
        <ConfirmButton
          label="Close account"
          title="Close this account?"
          confirm="Close account for good"
          onConfirm={() => close.mutateAsync({}).then(() => location.assign('/login'))}
        >
          Every gateway key stops working and nobody can log in any more. This cannot be undone here.
        </ConfirmButton>
      </div>
    </Card>
  );
}
