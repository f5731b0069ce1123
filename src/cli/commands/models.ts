import { type Command, Option } from 'commander';
import type { Static } from 'typebox';
import type { Model } from '../../contract/models.ts';
import { MAX_PAGE_LIMIT } from '../../contract/operation.ts';
import { CHANGE_WINDOW_DAYS, type PriceChange } from '../../contract/price-changes.ts';
import { defaultsTo, describeCommand, runs } from '../command.ts';
import { readSpan } from '../flags.ts';
import { count, day, money, rate } from '../format.ts';
import type { Host } from '../host.ts';
import type { Session } from '../session.ts';
import { showable } from '../text.ts';
import { readProvider } from './provider-keys.ts';

const DAY_MS = 86_400_000;

interface ListOptions {
  provider?: string;
}

interface DiffOptions extends ListOptions {
  last: number;
}

export function modelsCommand(host: Host): Command {
  const group = describeCommand({
    usage: 'models',
    summary: 'Models, their prices, and how these changed',
    examples: ['gw models --provider prov_b', 'gw models diff --last 30d', 'gw models changes'],
  });
  return defaultsTo(group, listCommand(host)).addCommand(diffCommand(host)).addCommand(changesCommand(host));
}

const providerOption = () => new Option('--provider <provider>', 'only of this provider');

function listCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'list',
    summary: 'Every model with its price of today (what gw models does)',
    aliases: ['ls'],
    examples: ['gw models', 'gw models --provider openai', 'gw models --json'],
  }).addOption(providerOption());
  return runs<ListOptions>(host, command, listModels);
}

async function listModels(session: Session, options: ListOptions): Promise<void> {
  const { out, client } = session;
  const query =
    options.provider === undefined ? {} : { provider: readProvider(options.provider, 'gw models --help') };
  const models = await session.take(client.call('listModels', { query }));
  if (session.json) return out.json(models);
  if (models.length === 0) return out.note('No models.');
  type Row = Static<typeof Model>;
  out.table<Row>(
    [
      { title: 'PROVIDER', of: (model) => model.provider },
      { title: 'MODEL', of: (model) => model.model_id, flexible: true },
      { title: 'INPUT/MTOK', of: (model) => rate(model.pricing_input_per_mtok), right: true },
      { title: 'OUTPUT/MTOK', of: (model) => rate(model.pricing_output_per_mtok), right: true },
      { title: 'CACHED/MTOK', minor: true, of: (model) => rate(model.pricing_cached_per_mtok), right: true },
      {
        title: 'CONTEXT',
        minor: true,
        of: (model) => (model.context_window ? count(model.context_window) : '-'),
        right: true,
      },
      { title: 'PRICED', minor: true, of: (model) => day(model.pricing_updated_at) },
      {
        title: 'STATUS',
        of: (model) => model.status,
        paint: (text, model, colours) => (model.status === 'active' ? text : colours.yellow(text)),
      },
    ],
    models,
  );
}

type Change = Static<typeof PriceChange>;

function changesCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'changes',
    summary: 'Price changes and what they do to your bill',
    detail: `Of the last ${CHANGE_WINDOW_DAYS} days, for models you used.`,
    examples: ['gw models changes', 'gw models changes --json'],
  });
  return runs<object>(host, command, async (session) => {
    const { out } = session;
    const changes = await session.take(session.client.call('listPriceChanges'));
    if (session.json) return out.json(changes);
    if (changes.length === 0) return out.note('No price changes concern you.');
    out.table<Change>(
      [
        { title: 'EFFECTIVE', of: (change) => day(change.effective_at) },
        { title: 'MODEL', of: (change) => change.model_id, flexible: true },
        { title: 'CHANGE', of: changeText, flexible: true },
        {
          title: 'YOUR MONTH',
          of: (change) => signedMoney(change.estimate.monthly_effect_microdollars),
          right: true,
          paint: (text, change, colours) =>
            change.estimate.monthly_effect_microdollars > 0 ? colours.red(text) : colours.green(text),
        },
        { title: 'ID', of: (change) => change.id },
      ],
      changes,
    );
  });
}

function diffCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'diff',
    summary: 'Old and new prices side by side',
    detail: 'Changes that were decided on are included.',
    examples: ['gw models diff', 'gw models diff --last 7d --provider prov_a'],
  })
    .addOption(providerOption())
    .option('--last <span>', 'how far back, like 12h, 30d or 4w (default: 30d)', readSpan, 30 * DAY_MS);
  return runs<DiffOptions>(host, command, diffModels);
}

async function diffModels(session: Session, options: DiffOptions): Promise<void> {
  const { out, client } = session;
  const provider =
    options.provider === undefined ? null : readProvider(options.provider, 'gw models diff --help');
  const active = await session.take(client.call('listPriceChanges'));
  const decided = await session.take(
    client.call('listDecidedPriceChanges', { query: { limit: MAX_PAGE_LIMIT } }),
  );
  const sinceMs = session.host.nowMs() - options.last;
  const changes = [...active, ...decided.data]
    .filter((change) => Date.parse(change.effective_at) >= sinceMs)
    .filter((change) => provider === null || change.provider === provider)
    .sort((a, b) => b.effective_at.localeCompare(a.effective_at));
  if (session.json) return out.json(changes);
  if (changes.length === 0) return out.note('No price of a model you used changed in that time.');
  for (const change of changes) {
    out.line(
      out.colours.bold(`${change.provider} ${showable(change.model_id)} from ${day(change.effective_at)}`),
    );
    for (const { field, old, new: now } of change.differences) {
      if (old !== null) out.line(out.colours.red(`- ${showable(field)} ${priceText(old)}`));
      if (now !== null) out.line(out.colours.green(`+ ${showable(field)} ${priceText(now)}`));
    }
  }
}

function changeText(change: Change): string {
  return change.differences
    .map(({ field, old, new: now }) => `${shortField(field)} ${priceText(old)} → ${priceText(now)}`)
    .join(', ');
}

/** `pricing_input_per_mtok` says in a table no more than `input`. */
function shortField(field: string): string {
  return field.replace(/^pricing_/, '').replace(/_per_mtok$/, '');
}

function priceText(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  return typeof value === 'number' ? rate(value) : showable(JSON.stringify(value));
}

function signedMoney(microdollars: number): string {
  return microdollars > 0 ? `+${money(microdollars)}` : money(microdollars);
}
