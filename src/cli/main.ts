import { homedir } from 'node:os';
import { EXIT } from './exit.ts';
import type { Host } from './host.ts';
import { run } from './run.ts';

/** Put in by the build from package.json. */
declare const GW_VERSION: string;

/** What `~` means to the shell that started us; no setting of ours is read from the environment. */
function homeDir(): string | null {
  try {
    return homedir();
  } catch {
    // A container may run as a user that its database does not know.
    return null;
  }
}

const interrupt = new AbortController();
process.on('SIGINT', () => {
  // The first asks nicely, so that temporary files and keys are cleared away; the second means it.
  if (interrupt.signal.aborted) process.exit(EXIT.interrupted);
  interrupt.abort();
});

/** Node makes each stream when it is first looked at, which takes a while; most runs need only some. */
const opened = new Set<NodeJS.WritableStream>();
function open<Stream extends NodeJS.WritableStream>(stream: Stream): Stream {
  if (opened.has(stream)) return stream;
  opened.add(stream);
  // `gw tail | head` closes the pipe when it has enough: nothing is wrong.
  stream.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? EXIT.success : EXIT.failure);
  });
  return stream;
}

const host: Host = {
  get stdin() {
    return process.stdin;
  },
  get stdout() {
    return open(process.stdout);
  },
  get stderr() {
    return open(process.stderr);
  },
  get homeDir() {
    return homeDir();
  },
  version: GW_VERSION,
  nowMs: Date.now,
  signal: interrupt.signal,
};

run(process.argv.slice(2), host).then(async (exitCode) => {
  // Where a pipe is written asynchronously, leaving before it is empty would cut the output short.
  for (const stream of opened) await new Promise((resolve) => stream.write('', resolve));
  // Connections kept alive for a next call that will not come would hold the process open for seconds.
  process.exit(exitCode);
});
