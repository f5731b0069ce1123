import { it, expect } from 'vitest';
import { readdir, readFile } from 'node:fs/promises';
import { startGateway } from './scratch-harness.ts';
it('works', async () => {
  const t0 = Date.now();
  const gw = await startGateway();
  console.log('start', Date.now() - t0);
  const a = await gw.signUp();
  console.log((await gw.call('GET', '/v1/account', { token: a.token })).text);
  console.log((await gw.call('POST', '/v1/auth/forgot-password', { body: { email: a.email } })).text);
  await new Promise((r) => setTimeout(r, 1500));
  const files = await readdir(`${gw.dataDir}/outbox`);
  console.log(files, await readFile(`${gw.dataDir}/outbox/${files[0]}`, 'utf8'));
  console.log(await gw.sql('select * from graphile_worker.jobs'));
  console.log((await gw.call('GET', '/v1/audit?format=csv', { token: a.token })).text);
  const t = Date.now(); await gw.stop(); console.log('stop', Date.now() - t);
  expect(1).toBe(1);
});
