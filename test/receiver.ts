import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

export interface Received {
  path: string;
  headers: IncomingHttpHeaders & Record<string, string>;
  body: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came
  json: any;
  atMs: number;
}

export interface Receiver {
  url: string;
  received: Received[];
  /** Connections made to it, whether or not a request came. */
  connections: number;
  /** What it does with a request; 200 unless a test says otherwise. */
  respond: (response: ServerResponse, received: Received) => void;
  close(): Promise<void>;
}

/** Someone on loopback who takes webhooks and chat messages. */
export async function startReceiver(tls?: { key: string; cert: string }): Promise<Receiver> {
  const server = tls ? createTlsServer(tls) : createServer();
  const receiver: Receiver = {
    url: '',
    received: [],
    connections: 0,
    respond: (response) => response.end('thanks'),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  server.on('connection', () => {
    receiver.connections += 1;
  });
  server.on('request', async (request, response) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      // The sender hung up.
      return;
    }
    const body = Buffer.concat(chunks).toString();
    let json: unknown = null;
    try {
      json = JSON.parse(body);
    } catch {
      // Not everything sent is JSON.
    }
    const headers = request.headers as Received['headers'];
    const received = { path: request.url ?? '', headers, body, json, atMs: Date.now() };
    receiver.received.push(received);
    receiver.respond(response, received);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  receiver.url = `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return receiver;
}
