import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Receiver, startReceiver } from '../../../test/receiver.ts';
import { RECEIVER_CERTIFICATE } from '../../../test/receiver-certificate.ts';
import { openOutbound } from './outbound.ts';

const NOT_PUBLIC = 'The address is not on the public internet.';
const message = { headers: { 'content-type': 'application/json' }, body: '{}' };

let canary: Receiver;
beforeAll(async () => {
  canary = await startReceiver();
});
afterAll(() => canary.close());

/** Every way we know of to write an address of the inside; PORT is where the canary sits. */
const HOSTILE = `
  https://127.0.0.1:PORT/ https://127.0.0.1.:PORT/ https://127.1:PORT/ https://127.0.1:PORT/ https://127.00.0.1:PORT/
  https://2130706433:PORT/ https://017700000001:PORT/ https://0x7f000001:PORT/ https://0x7f.0.0.1:PORT/
  https://0x7f.1:PORT/ https://0177.0.0.1:PORT/ https://0177.0x0.0.1:PORT/ https://127.0.0.01:PORT/
  https://%31%32%37.0.0.1:PORT/ https://127%2e0%2e0%2e1:PORT/ https://１２７.０.０.１:PORT/ https://①②⑦.⓪.⓪.①:PORT/
  https://127。0。0。1:PORT/ https://127．0．0．1:PORT/ https://127｡0｡0｡1:PORT/ https://127.0.0.1:PORT/#@example.com
  https://127.255.255.254:PORT/ https://127.0.0.2:PORT/ https://127.0.0.1:PORT?x= https://127.0.0.1:PORT/..;/
  https://localhost:PORT/ https://localhost.:PORT/ https://LOCALHOST:PORT/ https://ⓛocalhost:PORT/
  https://foo.localhost:PORT/ https://foo.localhost.:PORT/ https://loc%61lhost:PORT/ https://ＬＯＣＡＬＨＯＳＴ:PORT/
  https://0:PORT/ https://0.0.0.0:PORT/ https://0x0:PORT/ https://00:PORT/ https://0.0.0.0.:PORT/ https://0.1.2.3:PORT/
  https://[::1]:PORT/ https://[0:0:0:0:0:0:0:1]:PORT/ https://[::]:PORT/ https://[0000::1]:PORT/ https://[::0001]:PORT/
  https://[::ffff:127.0.0.1]:PORT/ https://[::ffff:7f00:1]:PORT/ https://[0:0:0:0:0:ffff:127.0.0.1]:PORT/
  https://[::ffff:0:127.0.0.1]:PORT/ https://[::127.0.0.1]:PORT/ https://[::7f00:1]:PORT/ https://[::ffff:10.0.0.1]:PORT/
  https://[64:ff9b::127.0.0.1]:PORT/ https://[64:ff9b::7f00:1]:PORT/ https://[64:ff9b::a9fe:a9fe]:PORT/
  https://[64:ff9b:1::7f00:1]:PORT/ https://[2002:7f00:1::]:PORT/ https://[2002:7f00:1::1]:PORT/
  https://[2002:a9fe:a9fe::]:PORT/ https://[2002:c0a8:1::]:PORT/ https://[2001:0:7f00:1::]:PORT/
  https://[2001:0:4136:e378:8000:63bf:80ff:fffe]:PORT/ https://[fe80::1]:PORT/ https://[fec0::1]:PORT/
  https://[fc00::1]:PORT/ https://[fd00:ec2::254]:PORT/ https://[ff02::1]:PORT/ https://[100::1]:PORT/
  https://[2001:db8::1]:PORT/ https://[3fff::1]:PORT/ https://[5f00::1]:PORT/ https://[::ffff:a9fe:a9fe]/
  https://169.254.169.254/latest/meta-data/ https://0xa9fea9fe/ https://2852039166/ https://0251.0376.0251.0376/
  https://169.254.43518/ https://0xa9.0xfe.0xa9.0xfe/ https://169.254.169.254./ https://169.254.170.2/v2/credentials
  https://100.100.100.200/ https://168.63.129.16/ https://192.0.0.192/ https://10.0.0.1/ https://10.1/ https://167772161/
  https://012.0.0.1/ https://0xa.1/ https://172.16.0.1/ https://172.31.255.254/ https://192.168.0.1/ https://192.168.1/
  https://0300.0250.0.1/ https://3232235521/ https://100.64.0.1/ https://198.18.0.1/ https://192.0.2.1/
  https://198.51.100.1/ https://203.0.113.1/ https://224.0.0.1/ https://239.1.1.1/ https://240.0.0.1/
  https://255.255.255.255/ https://4294967295/ https://192.88.99.1/ https://user@127.0.0.1:PORT/
  https://user:pass@127.0.0.1:PORT/ https://example.com@127.0.0.1:PORT/ https://example.com:443@127.0.0.1:PORT/
  https://:pass@example.com/ https://user@example.com/ https://127.0.0.1:PORT\\@example.com/
  https://example.com\\@127.0.0.1:PORT/ https:\\\\127.0.0.1:PORT/ https:127.0.0.1:PORT/ https:/127.0.0.1:PORT/
  http://127.0.0.1:PORT/ http://example.com/ HTTP://127.0.0.1:PORT/ ftp://127.0.0.1:PORT/ file:///etc/passwd
  gopher://127.0.0.1:PORT/_x data:text/plain,x javascript:alert(1) ws://127.0.0.1:PORT/ //127.0.0.1:PORT/ 127.0.0.1:PORT
  https:// https://: https://[::1 https://[fe80::1%25eth0]:PORT/ https://256.256.256.256/ https://1.2.3.4.5:PORT.6/
  https://example.com:0/ https://example.com:65536/ blob:https://127.0.0.1:PORT/x
`
  .trim()
  .split(/\s+/);
const ODD = ['', ' ', 'https://127.0.0.1\t:PORT/', 'https://127.0.0.1\n:PORT/', ' https://127.0.0.1:PORT/'];
const URLS = [...HOSTILE, ...ODD];

describe('a message to an address of the inside', () => {
  const outbound = openOutbound({ allowPrivate: false, resolve: async () => ['127.0.0.1'] });
  const withPort = (url: string) => url.replaceAll('PORT', new URL(canary.url).port);

  it('is known in at least 120 spellings', () => expect(new Set(URLS).size).toBeGreaterThanOrEqual(120));

  it.each(URLS)('is refused before and while it is sent: %j', async (text) => {
    const url = withPort(text);
    expect(outbound.problemWith(url)).not.toBeNull();
    const outcome = await outbound.post({ url, ...message });
    expect(outcome).toMatchObject({ kind: 'failed', reason: outbound.problemWith(url) });
    expect(canary.connections).toBe(0);
  });

  it.each([
    '127.0.0.1',
    '10.0.0.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '::1',
    '::',
    '::ffff:127.0.0.1',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    'fe80::1',
    'fd00::1',
    '168.63.129.16',
  ])('is refused when a name points to %s', async (address) => {
    const lured = openOutbound({ allowPrivate: false, resolve: async () => [address] });
    const url = withPort('https://webhooks.example.com:PORT/');
    expect(lured.problemWith(url)).toBeNull();
    expect(await lured.post({ url, ...message })).toMatchObject({ kind: 'failed', reason: NOT_PUBLIC });
    expect(canary.connections).toBe(0);
  });

  it('is refused at the attempt at which the name has come to point there, and dials only what was checked', async () => {
    const answers = [['93.184.215.14'], ['127.0.0.1'], ['93.184.215.14', '127.0.0.1', '::1'], ['127.0.0.1']];
    let asked = 0;
    const rebound = openOutbound({ allowPrivate: false, resolve: async () => answers[asked++]! });
    const url = withPort('https://rebinding.example.com:PORT/');
    const reasons = [];
    for (let attempt = 0; attempt < answers.length; attempt++) {
      // The public address is not there to answer in a test; what matters is that nobody inside hears of it.
      const outcome = await rebound.post({ url, ...message, signal: AbortSignal.timeout(300) });
      reasons.push(outcome.kind === 'failed' && outcome.reason);
    }
    expect(asked).toBe(answers.length);
    expect([reasons[1], reasons[3]]).toEqual([NOT_PUBLIC, NOT_PUBLIC]);
    expect([reasons[0], reasons[2]]).not.toContain(NOT_PUBLIC);
    expect(canary.connections).toBe(0);
  });

  it('is the same message that is sent where it may be', async () => {
    const allowed = openOutbound({ allowPrivate: true });
    const outcome = await allowed.post({ url: `${canary.url}/hook?a=b`, ...message });
    expect(outcome).toMatchObject({ kind: 'answered', statusCode: 200, bodyStart: 'thanks' });
    expect(canary.connections).toBe(1);
    expect(canary.received[0]).toMatchObject({ path: '/hook?a=b', body: '{}' });
  });
});

describe('an address of the public internet', () => {
  const outbound = openOutbound({ allowPrivate: false });
  it.each([
    'https://example.com',
    'https://example.com:8443/a?b=c#d',
    'HTTPS://EXAMPLE.COM/',
    'https://8.8.8.8/',
    'https://[2606:4700::1111]/',
    'https://bücher.example/',
    'https://example.com./',
    'https://hooks.localhost.run/',
  ])('may be tried: %s', (url) => expect(outbound.problemWith(url)).toBeNull());
});

describe('a receiver', () => {
  const outbound = openOutbound({ allowPrivate: true, timeoutMs: 700 });
  const open: Receiver[] = [];
  const start = async (...tls: Parameters<typeof startReceiver>) => {
    const receiver = await startReceiver(...tls);
    open.push(receiver);
    return receiver;
  };
  afterEach(async () => {
    for (const receiver of open.splice(0)) await receiver.close();
  });

  it.each([301, 302, 303, 307, 308])('that redirects with %i is not followed', async (status) => {
    const [from, to] = [await start(), await start()];
    from.respond = (response) => response.writeHead(status, { location: `${to.url}/inside` }).end();
    expect(await outbound.post({ url: from.url, ...message })).toMatchObject({ statusCode: status });
    expect(to.connections).toBe(0);
  });

  it('that never answers costs no more than the time allowed', async () => {
    const receiver = await start();
    receiver.respond = () => undefined;
    const outcome = await outbound.post({ url: receiver.url, ...message });
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'No answer within 0.7 seconds.' });
    expect(outcome.durationMs).toBeGreaterThanOrEqual(650);
    expect(outcome.durationMs).toBeLessThan(5_000);
  });

  it('whose name never resolves costs no more than that either', async () => {
    const lost = openOutbound({
      allowPrivate: true,
      timeoutMs: 200,
      resolve: () => new Promise(() => undefined),
    });
    const outcome = await lost.post({ url: 'http://lost.example.com/', ...message });
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'No answer within 0.2 seconds.' });
  });

  it('that answers and then drips its body has answered', async () => {
    const receiver = await start();
    receiver.respond = (response) => {
      const drip = setInterval(() => response.write('x'), 50);
      response.on('close', () => clearInterval(drip));
    };
    expect(await outbound.post({ url: receiver.url, ...message })).toMatchObject({ statusCode: 200 });
  });

  it('that answers without end is read to 64 KiB and hung up on', async () => {
    const receiver = await start();
    const hungUp = new Promise<void>((resolve) => {
      receiver.respond = (response) => {
        response.on('close', resolve);
        const pour = () => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536, 'x')));
        };
        response.on('drain', pour);
        pour();
      };
    });
    const outcome = await outbound.post({ url: receiver.url, ...message });
    expect(outcome).toMatchObject({ kind: 'answered', statusCode: 200 });
    expect(outcome.kind === 'answered' && outcome.bodyStart.length).toBe(65_536);
    await hungUp;
  });

  it('sees a new connection for every message', async () => {
    const receiver = await start();
    for (let number = 0; number < 3; number++) await outbound.post({ url: receiver.url, ...message });
    expect(receiver.connections).toBe(3);
  });

  it('on loopback may sign its own certificate in development, any other may not', async () => {
    const receiver = await start(RECEIVER_CERTIFICATE);
    expect(await outbound.post({ url: receiver.url, ...message })).toMatchObject({ statusCode: 200 });
    const elsewhere = openOutbound({ allowPrivate: true, resolve: async () => ['127.0.0.1'] });
    const url = `https://receiver.test:${new URL(receiver.url).port}/`;
    expect(await elsewhere.post({ url, ...message })).toMatchObject({ kind: 'failed' });
    expect(receiver.received).toHaveLength(1);
  });

  it('that is not there, resets or talks nonsense is a failure with a reason, never a fault', async () => {
    const receiver = await start();
    receiver.respond = (response) => response.socket?.resetAndDestroy();
    const reset = await outbound.post({ url: receiver.url, ...message });
    expect(reset).toMatchObject({ kind: 'failed', reason: 'The connection was closed without an answer.' });
    receiver.respond = (response) => response.socket?.end('nonsense\r\n\r\n');
    expect(await outbound.post({ url: receiver.url, ...message })).toMatchObject({ kind: 'failed' });
    const { url } = receiver;
    await receiver.close();
    const refused = await outbound.post({ url, ...message });
    expect(refused).toMatchObject({ kind: 'failed', reason: 'The connection was refused.' });
  });
});
