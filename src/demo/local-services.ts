import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PRICE_CATALOGUE } from './price-catalogue.ts';

const HOST = '127.0.0.1';
export const WORKING_HOOK = '/hooks/ops';
export const BROKEN_HOOK = '/hooks/legacy-pager';
const CHAT = '/chat/';
const PRICES = '/prices/models.json';

/** Everybody outside that the gateway talks to besides the providers, on this machine. */
export interface LocalServices {
  port: number;
  url: string;
  chatPrefix: string;
  chatHook: string;
  priceSource: string;
  close(): Promise<void>;
}

/** On the port of the last run if that is still free. */
export async function startLocalServices(wantedPort: number): Promise<LocalServices> {
  const server = createServer(answer);
  const listen = (port: number) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, HOST, () => {
        server.off('error', reject);
        resolve();
      });
    });
  await listen(wantedPort).catch((error: NodeJS.ErrnoException) => {
    if (wantedPort === 0 || error.code !== 'EADDRINUSE') throw error;
    return listen(0);
  });
  const { port } = server.address() as AddressInfo;
  const url = `http://${HOST}:${port}`;
  return {
    port,
    url,
    chatPrefix: url + CHAT,
    chatHook: `${url}${CHAT}ai-spend`,
    priceSource: `models_dev=${url}${PRICES}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  request.resume();
  const path = request.url ?? '';
  if (path === PRICES) {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(PRICE_CATALOGUE));
  } else if (path === WORKING_HOOK || path.startsWith(CHAT)) response.end('ok');
  else if (path === BROKEN_HOOK) response.writeHead(500).end('the pager is out of order');
  else response.writeHead(404).end();
}
