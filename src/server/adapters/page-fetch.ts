const TIMEOUT_MS = 30_000;
const MAX_BYTES = 20 * 1024 * 1024;
const MAX_REDIRECTS = 3;

export type FetchedPage = { kind: 'fetched'; text: string } | { kind: 'failed'; reason: string };

/** Reads a public page whole or not at all. Every address on the way, the first included, must be allowed. */
export async function fetchPage(url: string, isAllowed: (url: string) => boolean): Promise<FetchedPage> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  let address = url;
  try {
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      if (!isAllowed(address)) return failed(`may not be fetched from ${address}`);
      const response = await fetch(address, {
        redirect: 'manual',
        signal,
        headers: { accept: 'application/json, text/html;q=0.9', 'user-agent': 'gateway-price-reader' },
      });
      const location = response.headers.get('location');
      if (response.status >= 300 && response.status < 400 && location !== null) {
        await response.body?.cancel();
        address = new URL(location, address).href;
        continue;
      }
      if (!response.ok) {
        await response.body?.cancel();
        return failed(`answered ${response.status}`);
      }
      return await readWhole(response);
    }
    return failed(`redirects more than ${MAX_REDIRECTS} times`);
  } catch (error) {
    if (signal.aborted) return failed(`did not answer within ${TIMEOUT_MS / 1000} seconds`);
    const cause = (error as { cause?: { message?: string } }).cause;
    return failed(`could not be reached: ${cause?.message ?? (error as Error).message}`);
  }
}

async function readWhole(response: Response): Promise<FetchedPage> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) return failed(`is larger than ${MAX_BYTES / 1024 / 1024} MiB`);
    chunks.push(chunk);
  }
  return { kind: 'fetched', text: Buffer.concat(chunks).toString('utf8') };
}

function failed(reason: string): FetchedPage {
  return { kind: 'failed', reason };
}
