import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { type Command, Option } from 'commander';
import { INVOICED_PROVIDERS, type InvoicedProvider, PROVIDER_LABELS } from '../../contract/providers.ts';
import { confirmed, describeCommand, runs, YES_FLAG } from '../command.ts';
import { Stop } from '../exit.ts';
import { readMonth } from '../flags.ts';
import { age, decimalsFor, dollars, microdollarsOf, money, percent } from '../format.ts';
import type { Host } from '../host.ts';
import type { Session } from '../session.ts';
import { plural, showable } from '../text.ts';
import { uploadInvoice } from '../upload.ts';
import { readProvider } from './provider-keys.ts';

export function reconcileCommand(host: Host): Command {
  return describeCommand({
    usage: 'reconcile',
    summary: 'Compare a provider’s invoice with the ledger',
    examples: [
      'gw reconcile upload invoice.csv --month 2026-01',
      'gw reconcile list',
      'gw reconcile show <run-id>',
    ],
  })
    .addCommand(uploadCommand(host))
    .addCommand(listCommand(host))
    .addCommand(showCommand(host))
    .addCommand(deleteCommand(host));
}

interface UploadOptions {
  month: string;
  provider: string;
}

function uploadCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'upload <file>',
    summary: 'Upload an invoice or cost export (CSV) and compare it',
    examples: [
      'gw reconcile upload invoice.csv --month 2026-01',
      'gw reconcile upload cost.csv --month 2026-01 --provider prov_b',
    ],
  })
    .requiredOption('--month <month>', 'the invoice’s month, YYYY-MM', readMonth)
    .addOption(new Option('--provider <provider>', 'whose invoice it is').default('prov_a'));
  return runs<UploadOptions>(host, command, async (session, options, [file]) => {
    const { out } = session;
    const stats = statSync(file!);
    if (stats.isDirectory()) {
      throw new Stop('not_a_file', `${file} is a directory, not an invoice.`, `ls ${file}`);
    }
    const run = await uploadInvoice(session, {
      file: file!,
      name: basename(file!),
      size: stats.size,
      provider: readInvoicedProvider(options.provider),
      month: options.month,
    });
    if (session.json) return out.json(run);
    out.fields([
      ['Run', run.id],
      ['Invoice', dollars(run.invoice_total_usd)],
      ['Ledger', dollars(run.ledger_total_usd)],
      ['Difference', dollars(run.delta_usd)],
      ['Lines', `${run.matched_lines} matched, ${run.unmatched_lines} not`],
      ['Shadow AI', `${plural(run.shadow_ai_count, 'billed model')} the gateway never saw`],
    ]);
    out.note(`By model: gw reconcile show ${run.id}`);
  });
}

function listCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'list',
    summary: 'All runs, newest first',
    aliases: ['ls'],
    examples: ['gw reconcile list', 'gw reconcile list --json'],
  });
  return runs<object>(host, command, async (session) => {
    const { out } = session;
    const list = await session.take(session.client.call('listReconciliations'));
    if (session.json) return out.json(list);
    if (list.length === 0) return out.note('No runs yet. Next: gw reconcile upload <file> --month <YYYY-MM>');
    out.table(
      [
        { title: 'MONTH', of: (run) => run.invoice_month },
        { title: 'PROVIDER', of: (run) => run.provider },
        { title: 'STATUS', minor: true, of: (run) => run.status },
        { title: 'INVOICE', minor: true, of: (run) => dollars(run.invoice_total_usd), right: true },
        { title: 'LEDGER', minor: true, of: (run) => dollars(run.ledger_total_usd), right: true },
        { title: 'DIFFERENCE', of: (run) => dollars(run.delta_usd), right: true },
        {
          title: 'MATCHED',
          minor: true,
          of: (run) => `${run.matched_lines}/${run.matched_lines + run.unmatched_lines}`,
          right: true,
        },
        { title: 'SHADOW AI', minor: true, of: (run) => String(run.shadow_ai_count), right: true },
        { title: 'MADE', minor: true, of: (run) => age(run.created_at, session.host.nowMs()) },
        { title: 'ID', of: (run) => run.id },
      ],
      list,
    );
  });
}

function showCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'show <run-id>',
    summary: 'One run, model by model, the largest difference first',
    examples: ['gw reconcile show <run-id>', 'gw reconcile show <run-id> --json'],
  });
  return runs<object>(host, command, showRun);
}

async function showRun(session: Session, _options: object, [id]: string[]): Promise<void> {
  const { out, client } = session;
  const run = await session.take(client.call('getReconciliation', { params: { id: id! } }));
  if (session.json) return out.json(run);
  out.fields([
    [
      'Invoice',
      `${dollars(run.invoice_total_usd)} (${run.provider}, ${run.invoice_month}, ${showable(run.layout)})`,
    ],
    ['Ledger', dollars(run.ledger_total_usd)],
    ['Difference', dollars(run.delta_usd)],
  ]);
  if (run.models.length === 0) return;
  out.line('');
  const amounts = run.models.flatMap((model) => [model.invoice_usd, model.ledger_usd, model.delta_usd]);
  const decimals = decimalsFor(amounts.map(microdollarsOf));
  const amount = (usd: string) => money(microdollarsOf(usd), decimals);
  out.table(
    [
      { title: 'MODEL', of: (model) => model.model_id, flexible: true },
      { title: 'INVOICE', of: (model) => amount(model.invoice_usd), right: true },
      { title: 'LEDGER', of: (model) => amount(model.ledger_usd), right: true },
      { title: 'DIFFERENCE', of: (model) => amount(model.delta_usd), right: true },
      {
        title: 'SHARE',
        minor: true,
        of: (model) => (model.delta_share === null ? '-' : percent(model.delta_share)),
        right: true,
      },
      { title: 'REQUESTS', minor: true, of: (model) => String(model.requests), right: true },
      {
        title: 'STATUS',
        of: (model) => model.status,
        paint: (text, model, colours) => (model.status === 'matched' ? text : colours.yellow(text)),
      },
    ],
    run.models,
  );
}

function deleteCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'delete <run-id>',
    summary: 'Delete a run',
    aliases: ['rm'],
    examples: ['gw reconcile delete <run-id>', 'gw reconcile delete <run-id> --yes'],
  }).option(...YES_FLAG);
  return runs<{ yes?: boolean }>(host, command, async (session, options, [id]) => {
    await confirmed(session, `Delete the run ${id}?`, options.yes);
    await session.take(session.client.call('deleteReconciliation', { params: { id: id! } }));
    session.out.done(`Deleted the run ${id}.`);
  });
}

function readInvoicedProvider(text: string): InvoicedProvider {
  const help = 'gw reconcile upload --help';
  const provider = readProvider(text, help);
  const invoiced = INVOICED_PROVIDERS.find((name) => name === provider);
  if (invoiced) return invoiced;
  const names = INVOICED_PROVIDERS.map((name) => `${name} (${PROVIDER_LABELS[name]})`).join(', ');
  throw new Stop('invalid_provider', `Invoices can be compared of ${names}.`, help);
}
