import { once } from 'node:events';
import { createWriteStream, existsSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { finished } from 'node:stream/promises';
import { ClientFault, type CsvResult } from '../client/client.ts';
import { Interrupted, Stop } from './exit.ts';
import { bytes } from './format.ts';
import { startProgress } from './progress.ts';
import { interruptible, type Session } from './session.ts';

/** Takes a CSV answer to a file, whole or not at all, or to stdout. */
export async function takeCsv(
  session: Session,
  answer: Promise<CsvResult>,
  file: string | undefined,
): Promise<void> {
  const result = await interruptible(answer, session.host.signal);
  if (!result.ok) throw session.refuse(result);
  if (file === undefined || file === '-') {
    await copy(session, result.bytes, session.host.stdout);
    return;
  }
  const directory = dirname(file);
  if (!existsSync(directory)) {
    throw new Stop('no_such_directory', `There is no directory ${directory}.`, `mkdir -p ${directory}`);
  }
  const draft = `${file}.part`;
  const target = createWriteStream(draft);
  try {
    const size = await copy(session, result.bytes, target);
    target.end();
    await finished(target);
    renameSync(draft, file);
    session.out.done(`Wrote ${file} (${bytes(size)}).`);
  } catch (error) {
    target.destroy();
    rmSync(draft, { force: true });
    throw error;
  }
}

async function copy(
  session: Session,
  source: ReadableStream<Uint8Array>,
  target: NodeJS.WritableStream,
): Promise<number> {
  const progress = startProgress(session.host, 'receiving');
  let size = 0;
  const failed = once(target, 'error').then(([error]) => Promise.reject(error));
  failed.catch(() => {});
  try {
    for await (const chunk of source) {
      if (session.host.signal.aborted) throw new Interrupted();
      size += chunk.byteLength;
      progress.update(size, null);
      if (!target.write(chunk)) await Promise.race([once(target, 'drain'), failed]);
    }
  } catch (error) {
    // A cut connection surfaces as a bare TypeError from inside fetch.
    if (error instanceof TypeError) throw new ClientFault('the answer broke off before its end');
    throw error;
  } finally {
    progress.end();
  }
  return size;
}
