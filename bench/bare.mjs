// What the gateway is compared with: the same traffic through nothing but node:http and undici.
import { createServer } from 'node:http';
import { Pool } from 'undici';

const upstream = new URL(process.argv[2]);
const pool = new Pool(upstream.origin, { connections: 4096, pipelining: 1 });

const server = createServer({ noDelay: true }, (request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
    const headers = request.rawHeaders.filter(
      (_, index, all) => !/^(host|connection|content-length)$/i.test(all[index & ~1]),
    );
    const path = upstream.pathname + request.url.slice('/v1/proxy/prov_a'.length);
    pool.dispatch(
      { method: request.method, path, headers, body: body.length > 0 ? body : null },
      {
        onConnect() {},
        onHeaders(status, rawHeaders, resume, statusText) {
          response.on('drain', resume);
          const passed = rawHeaders
            .map((part) => part.toString('latin1'))
            .filter((_, index, all) => !/^(connection|keep-alive|transfer-encoding)$/i.test(all[index & ~1]));
          response.writeHead(status, statusText, passed);
          return true;
        },
        onData: (chunk) => response.write(chunk),
        onComplete: () => response.end(),
        onError: () => response.destroy(),
      },
    );
  });
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
