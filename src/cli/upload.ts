import { createReadStream } from 'node:fs';
import type { Static } from 'typebox';
import { ClientFault, openClient } from '../client/client.ts';
import type { InvoicedProvider } from '../contract/providers.ts';
import type { ReconciliationRun } from '../contract/reconciliation.ts';
import { type Progress, startProgress } from './progress.ts';
import type { Session } from './session.ts';

interface Invoice {
  file: string;
  name: string;
  size: number;
  provider: InvoicedProvider;
  month: string;
}

/** Sends the file as it is read, so that its size does not matter and its progress can be shown. */
export async function uploadInvoice(
  session: Session,
  invoice: Invoice,
): Promise<Static<typeof ReconciliationRun>> {
  const boundary = `gw-${crypto.randomUUID()}`;
  const progress = startProgress(session.host, `uploading ${invoice.name}`);
  // The client speaks JSON; the same call goes out with the form in place of the body it made.
  const sendForm: typeof fetch = (url, init) => {
    const headers = new Headers(init?.headers);
    headers.set('content-type', `multipart/form-data; boundary=${boundary}`);
    const body = ReadableStream.from(form(invoice, boundary, progress)) as ReadableStream<Uint8Array>;
    return fetch(url, { ...init, headers, body, duplex: 'half' } as RequestInit);
  };
  const client = openClient({ baseUrl: session.apiUrl, token: session.token(), fetch: sendForm });
  const body = { provider: invoice.provider, invoice_month: invoice.month };
  try {
    return await session.take(client.call('uploadInvoice', { body }));
  } catch (error) {
    // A file that cannot be read fails inside fetch, which hides it two causes deep.
    const cause = error instanceof ClientFault ? (error.cause as Error | undefined)?.cause : undefined;
    throw (cause as NodeJS.ErrnoException | undefined)?.syscall === 'open' ? cause : error;
  } finally {
    progress.end();
  }
}

async function* form(invoice: Invoice, boundary: string, progress: Progress): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  const field = (name: string, value: string) =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const name = invoice.name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  yield encoder.encode(
    `${field('provider', invoice.provider)}${field('invoice_month', invoice.month)}--${boundary}\r\n` +
      `content-disposition: form-data; name="file"; filename="${name}"\r\ncontent-type: text/csv\r\n\r\n`,
  );
  let sent = 0;
  for await (const chunk of createReadStream(invoice.file)) {
    sent += chunk.length;
    progress.update(sent, invoice.size);
    yield chunk;
  }
  yield encoder.encode(`\r\n--${boundary}--\r\n`);
}
