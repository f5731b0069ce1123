import net from 'node:net';

/** A client that writes bytes as they stand: what an HTTP library would never send. */
export interface RawClient {
  readonly socket: net.Socket;
  send(bytes: string | Buffer): void;
  /** Everything received so far, as latin1. */
  received(): string;
  /** Resolves with everything once the peer has closed; `reset` tells how. */
  closed(): Promise<{ text: string; reset: boolean }>;
  /** Resolves once what was received passes the check, or the peer has closed. */
  until(check: (text: string) => boolean): Promise<string>;
}

export async function connectRaw(url: string): Promise<RawClient> {
  const { hostname, port } = new URL(url);
  const socket = net.connect({ host: hostname, port: Number(port), noDelay: true });
  const parts: Buffer[] = [];
  let reset = false;
  let isClosed = false;
  const looks = new Set<() => void>();
  const look = () => {
    for (const each of [...looks]) each();
  };
  socket.on('data', (part) => {
    parts.push(part);
    look();
  });
  socket.on('error', () => {
    reset = true;
  });
  socket.on('close', () => {
    isClosed = true;
    look();
  });
  await new Promise((resolve) => socket.once('connect', resolve));
  const received = () => Buffer.concat(parts).toString('latin1');
  const until = (check: (text: string) => boolean) =>
    new Promise<string>((resolve) => {
      const attempt = () => {
        const text = received();
        if (!isClosed && !check(text)) return;
        looks.delete(attempt);
        resolve(text);
      };
      looks.add(attempt);
      attempt();
    });
  return {
    socket,
    send: (bytes) => void socket.write(bytes, 'latin1'),
    received,
    until,
    closed: async () => ({ text: await until(() => false), reset }),
  };
}

/** One request on a connection of its own; the answer once the server has closed it. */
export async function exchangeRaw(url: string, bytes: string | Buffer): Promise<string> {
  const client = await connectRaw(url);
  client.send(bytes);
  const { text } = await client.closed();
  return text;
}

export function statusOf(text: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0);
}

export interface RawUpstream {
  readonly url: string;
  /** The bytes of every request so far, one text for each connection. */
  received(): string[];
  close(): Promise<void>;
}

/** An upstream that is told its answer byte for byte. It answers once it has the whole request. */
export async function startRawUpstream(
  answer: (socket: net.Socket, request: string) => void | Promise<void>,
): Promise<RawUpstream> {
  const received: string[] = [];
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    const place = received.push('') - 1;
    let pending = '';
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (part) => {
      received[place] += part.toString('latin1');
      pending += part.toString('latin1');
      const end = pending.indexOf('\r\n\r\n');
      if (end === -1) return;
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(pending.slice(0, end))?.[1] ?? 0);
      if (pending.length < end + 4 + length) return;
      const request = pending;
      pending = '';
      void answer(socket, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as net.AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received: () => received,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
