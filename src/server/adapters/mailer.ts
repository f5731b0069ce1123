import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createTransport, type SendMailOptions } from 'nodemailer';
import { writeFileDurably } from './durable-file.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const GREETING_TIMEOUT_MS = 10_000;
const SOCKET_TIMEOUT_MS = 30_000;

export interface Mail {
  to: string;
  subject: string;
  text: string;
  html: string;
}

export interface Mailer {
  /** Throws when the mail server does not take the mail. */
  send(mail: Mail): Promise<void>;
  close(): void;
}

/** With a mail server: over SMTP. Without: every mail becomes a file that any mail program opens. */
export function openMailer(options: {
  smtpUrl: string | null;
  from: string;
  outboxDir: string;
  nowMs: () => number;
}): Mailer {
  const envelope = (mail: Mail): SendMailOptions => ({
    from: options.from,
    // As an object it is one address, whatever commas or angle brackets stand in it.
    to: { name: '', address: mail.to },
    subject: mail.subject,
    date: new Date(options.nowMs()),
    // The texts are ours, but a mailer that can read files or fetch addresses is one bug away from doing it.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  if (options.smtpUrl === null) return openOutbox(envelope, options.outboxDir, options.nowMs);
  const transport = createTransport({
    url: options.smtpUrl,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: GREETING_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
  });
  return {
    send: async (mail) => {
      await transport.sendMail({ ...envelope(mail), text: mail.text, html: mail.html });
    },
    close: () => transport.close(),
  };
}

function openOutbox(
  envelope: (mail: Mail) => SendMailOptions,
  directory: string,
  nowMs: () => number,
): Mailer {
  const transport = createTransport({ streamTransport: true, buffer: true });
  return {
    send: async (mail) => {
      const alternatives = [plainPart('text/plain', mail.text), plainPart('text/html', mail.html)];
      const { message } = await transport.sendMail({ ...envelope(mail), alternatives });
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const stamp = new Date(nowMs()).toISOString().replaceAll(':', '-');
      const file = join(directory, `${stamp}-${randomBytes(4).toString('hex')}.eml`);
      await writeFileDurably(file, message.toString());
    },
    close: () => transport.close(),
  };
}

/** As it is: whoever opens the file in an editor must be able to copy a link out of it. */
function plainPart(contentType: string, content: string): { raw: string } {
  const headers = `Content-Type: ${contentType}; charset=utf-8\r\nContent-Transfer-Encoding: 8bit`;
  return { raw: `${headers}\r\n\r\n${content.replaceAll(/\r?\n/g, '\r\n')}` };
}
