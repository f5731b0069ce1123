import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const PATIENCE_MS = 20_000;

/** The mails to one address, oldest first, once there are so many. */
export async function waitForMails(dataDir: string, address: string, count: number): Promise<string[]> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const mails = (await readOutbox(dataDir)).filter((mail) => mail.includes(`\nTo: ${address}\r\n`));
    if (mails.length >= count) return mails;
    if (Date.now() > end) throw new Error(`${mails.length} of ${count} mails to ${address} came`);
    await sleep(25);
  }
}

async function readOutbox(dataDir: string): Promise<string[]> {
  const directory = join(dataDir, 'outbox');
  const names = (await readdir(directory).catch(() => [])).filter((name) => name.endsWith('.eml')).sort();
  return Promise.all(names.map((name) => readFile(join(directory, name), 'utf8')));
}

export function resetTokenIn(mail: string): string {
  const token = /^([0-9a-f]{64})\r?$/m.exec(mail)?.[1];
  if (!token) throw new Error('the mail has no reset token');
  return token;
}
