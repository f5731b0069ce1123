import { type Command, Option } from 'commander';
import type { Static } from 'typebox';
import { SUBSCRIBABLE_EVENT_TYPES, type Webhook } from '../../contract/webhooks.ts';
import { confirmed, describeCommand, runs, YES_FLAG } from '../command.ts';
import { Failed, Stop } from '../exit.ts';
import { readList } from '../flags.ts';
import { age, duration, until } from '../format.ts';
import type { Host } from '../host.ts';
import type { Session } from '../session.ts';
import { showable } from '../text.ts';

const DELIVERIES_SHOWN = 50;

export function webhooksCommand(host: Host): Command {
  return describeCommand({
    usage: 'webhooks',
    summary: 'Endpoints that are told of alerts',
    aliases: ['wh'],
    examples: ['gw webhooks list', 'gw webhooks create --url https://example.com/hook', 'gw wh test <id>'],
  })
    .addCommand(listCommand(host))
    .addCommand(createCommand(host))
    .addCommand(testCommand(host))
    .addCommand(deliveriesCommand(host))
    .addCommand(deleteCommand(host));
}

function listCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'list',
    summary: 'All endpoints',
    aliases: ['ls'],
    examples: ['gw webhooks list', 'gw wh list --json'],
  });
  return runs<object>(host, command, async (session) => {
    const { out } = session;
    const list = await session.take(session.client.call('listWebhooks'));
    if (session.json) return out.json(list);
    if (list.webhooks.length === 0)
      return out.note('No webhooks yet. Next: gw webhooks create --url <https://…>');
    out.table<Static<typeof Webhook>>(
      [
        { title: 'URL', of: (hook) => hook.url, flexible: true },
        { title: 'EVENTS', minor: true, of: (hook) => hook.event_types.join(' '), flexible: true },
        {
          title: 'STATE',
          of: stateOf,
          paint: (text, hook, colours) => (hook.active ? colours.green(text) : colours.red(text)),
        },
        { title: 'LAST', minor: true, of: (hook) => hook.last_status ?? '-' },
        { title: 'WHEN', minor: true, of: (hook) => age(hook.last_delivery_at, session.host.nowMs()) },
        { title: 'ID', of: (hook) => hook.id },
      ],
      list.webhooks,
    );
  });
}

function stateOf(hook: Static<typeof Webhook>): string {
  if (hook.active) return 'active';
  return hook.disabled_reason === null ? 'inactive' : `disabled (${hook.disabled_reason})`;
}

function createCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'create',
    summary: 'Create an endpoint; its secret is printed this once',
    examples: [
      'gw webhooks create --url https://example.com/hook',
      'gw webhooks create --url https://example.com/hook --events alert.budget_threshold,alert.kill_switch',
    ],
  })
    .requiredOption('--url <url>', 'where to deliver, https://')
    .addOption(
      new Option('--events <types>', `separated by commas: ${SUBSCRIBABLE_EVENT_TYPES.join(', ')}`)
        .argParser(readList)
        .default(['alert.all'], 'alert.all'),
    );
  return runs<{ url: string; events: string[] }>(host, command, createWebhook);
}

async function createWebhook(session: Session, options: { url: string; events: string[] }): Promise<void> {
  const { out, client } = session;
  const types = options.events.map((name) => {
    const known = SUBSCRIBABLE_EVENT_TYPES.find((type) => type === name);
    if (known) return known;
    const all = SUBSCRIBABLE_EVENT_TYPES.join(', ');
    throw new Stop(
      'invalid_event_type',
      `“${name}” is no event type; there are ${all}.`,
      'gw webhooks create --help',
    );
  });
  const body = { url: options.url, event_types: types };
  const made = await session.take(client.call('createWebhook', { body }));
  if (session.json) out.json(made);
  else {
    out.fields([
      ['ID', made.id],
      ['URL', showable(made.url)],
      ['Events', made.event_types.join(' ')],
      ['Secret', made.secret],
    ]);
  }
  out.done(`Keep the secret: it is not shown again. Next: gw webhooks test ${made.id}`);
}

function testCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'test <id>',
    summary: 'Send a test delivery; exit code 1 unless it is answered 2xx',
    examples: ['gw webhooks test <id>'],
  });
  return runs<object>(host, command, async (session, _options, [id]) => {
    const { out } = session;
    const outcome = await session.take(session.client.call('testWebhook', { params: { id: id! } }));
    if (session.json) out.json(outcome);
    else {
      const answer = outcome.status_code === null ? 'no answer' : `answered ${outcome.status_code}`;
      const reason = outcome.error_message === null ? '' : `: ${showable(outcome.error_message)}`;
      out.line(`${outcome.status}: ${answer} in ${duration(outcome.duration_ms)}${reason}`);
    }
    if (outcome.status !== 'succeeded') throw new Failed();
  });
}

function deliveriesCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'deliveries <id>',
    summary: `The last ${DELIVERIES_SHOWN} deliveries of an endpoint`,
    examples: ['gw webhooks deliveries <id>', 'gw wh deliveries <id> --json'],
  });
  return runs<object>(host, command, async (session, _options, [id]) => {
    const { out } = session;
    const page = await session.take(
      session.client.call('listWebhookDeliveries', {
        params: { id: id! },
        query: { limit: DELIVERIES_SHOWN },
      }),
    );
    if (session.json) return out.json(page);
    if (page.data.length === 0) return out.note('No deliveries yet.');
    const nowMs = session.host.nowMs();
    out.table(
      [
        { title: 'CREATED', of: (one) => age(one.created_at, nowMs) },
        { title: 'EVENT', of: (one) => one.event_type },
        {
          title: 'STATUS',
          of: (one) => one.status,
          paint: (text, one, colours) =>
            one.status === 'succeeded'
              ? colours.green(text)
              : one.status === 'failed'
                ? colours.red(text)
                : text,
        },
        { title: 'CODE', of: (one) => String(one.status_code ?? '-'), right: true },
        { title: 'ATTEMPTS', minor: true, of: (one) => String(one.attempt_count), right: true },
        { title: 'NEXT', minor: true, of: (one) => until(one.next_retry_at, nowMs) },
        { title: 'ERROR', of: (one) => one.error_message ?? '-', flexible: true },
        { title: 'ID', of: (one) => one.id },
      ],
      page.data,
    );
  });
}

function deleteCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'delete <id>',
    summary: 'Delete an endpoint; pending retries are given up',
    aliases: ['rm'],
    examples: ['gw webhooks delete <id>', 'gw wh rm <id> --yes'],
  }).option(...YES_FLAG);
  return runs<{ yes?: boolean }>(host, command, async (session, options, [id]) => {
    await confirmed(session, `Delete the webhook ${id} and its history?`, options.yes);
    await session.take(session.client.call('deleteWebhook', { params: { id: id! } }));
    session.out.done(`Deleted the webhook ${id}.`);
  });
}
