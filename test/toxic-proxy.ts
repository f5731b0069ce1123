import net from 'node:net';

/** A TCP relay that can be made to fail as networks do. */
export interface ToxicProxy {
  /** The same address, through this relay. */
  through(url: string): string;
  /** Breaks every connection and refuses new ones. */
  cut(): void;
  /** Goes silent: connections stay open and nothing passes, as behind a dead route. New ones go silent too. */
  silence(): void;
  /** Silences the connections whose first bytes hold this text, and none that come later; how many they were. */
  silenceOnly(text: string): number;
  /** Every byte takes this much longer in each direction. */
  slow(ms: number): void;
  /** Everything passes again, what was held back included. */
  heal(): void;
  /** Shown what clients send; where it says so, that is passed on and the connection cut before any answer. */
  cutAfter(decides: ((sent: Buffer) => boolean) | null): void;
  close(): Promise<void>;
}

interface Pair {
  client: net.Socket;
  server: net.Socket;
  opening: string;
  silent: boolean;
}

export async function startToxicProxy(target: { host: string; port: number }): Promise<ToxicProxy> {
  const pairs = new Set<Pair>();
  let mode: 'open' | 'cut' | 'silent' = 'open';
  let delayMs = 0;
  let cutsAfter: ((sent: Buffer) => boolean) | null = null;

  function hush(pair: Pair, silent: boolean): void {
    pair.silent = silent;
    for (const socket of [pair.client, pair.server]) {
      if (silent) socket.pause();
      else socket.resume();
    }
  }

  function relay(from: net.Socket, to: net.Socket): void {
    from.on('data', (bytes) => {
      if (delayMs > 0) setTimeout(() => to.write(bytes), delayMs);
      else if (!to.write(bytes)) from.pause();
    });
    to.on('drain', () => {
      if (![...pairs].some((pair) => pair.silent && (pair.client === from || pair.server === from)))
        from.resume();
    });
    from.on('error', () => {});
    from.on('close', () => to.destroy());
  }

  const listener = net.createServer((client) => {
    if (mode === 'cut') return void client.destroy();
    const server = net.connect(target);
    const pair: Pair = { client, server, opening: '', silent: false };
    pairs.add(pair);
    client.once('data', (bytes) => {
      pair.opening = bytes.toString('latin1');
    });
    client.on('close', () => pairs.delete(pair));
    relay(client, server);
    relay(server, client);
    client.on('data', (bytes) => {
      if (cutsAfter?.(bytes)) client.destroy();
    });
    if (mode === 'silent') hush(pair, true);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as net.AddressInfo;

  return {
    through(url) {
      const address = new URL(url);
      address.hostname = '127.0.0.1';
      address.port = String(port);
      return address.href;
    },
    cut() {
      mode = 'cut';
      for (const { client } of pairs) client.destroy();
    },
    silence() {
      mode = 'silent';
      for (const pair of pairs) hush(pair, true);
    },
    silenceOnly(text) {
      const found = [...pairs].filter(({ opening, silent }) => !silent && opening.includes(text));
      for (const pair of found) hush(pair, true);
      return found.length;
    },
    slow(ms) {
      delayMs = ms;
    },
    heal() {
      mode = 'open';
      delayMs = 0;
      for (const pair of pairs) hush(pair, false);
    },
    cutAfter(decides) {
      cutsAfter = decides;
    },
    async close() {
      for (const { client } of pairs) client.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}
