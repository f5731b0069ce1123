import { writeFileSync } from 'node:fs';
import { test } from 'vitest';
import { startGateway } from '../harness.ts';
import { startReceiver } from '../receiver.ts';
import { seed } from './seeded.ts';
test('dev', async () => {
  const receiver = await startReceiver();
  const gw = await startGateway({ env: { GATEWAY_WEBHOOK_ALLOW_PRIVATE: '1', GATEWAY_CHAT_HOOK_PREFIX: receiver.url + '/' } });
  const seeded = await seed(gw, receiver);
  writeFileSync('/tmp/dash/dev.json', JSON.stringify({ apiUrl: gw.apiUrl, proxyUrl: gw.proxyUrl, operatorToken: gw.operatorToken, databaseUrl: gw.databaseUrl, ...seeded }));
  await new Promise((r) => setTimeout(r, 3_000_000));
}, 3_100_000);
