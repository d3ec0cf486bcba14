// A process of the service that is asked by its own client and then killed by the test: told by its arguments where and what.
import { createApp } from '../../../src/app.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { openGuardedFetch } from '../../../src/core/guarded-fetch.ts';
import { openKeyring } from '../../../src/core/keyring.ts';
import { openLog } from '../../../src/core/log.ts';
import { openDb } from '../../../src/db/connect.ts';
import { serve } from '../../setup/event-stream.ts';

const { address, settings, secret, path } = JSON.parse(process.argv[2] ?? '{}');
const { url } = await serve(
  createApp({
    db: openDb(address, address, { control: 2, data: 2 }, settings.readTimeoutMs),
    settings,
    clock: systemClock,
    log: openLog('silent'),
    fetch: openGuardedFetch({ allowPrivateHosts: true }),
    keyring: openKeyring([{ id: 'test', bytes: Buffer.alloc(32) }]),
  }),
);
await fetch(`${url}${path}`, {
  method: 'POST',
  headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
  body: JSON.stringify({ content: 'Will you live to tell?' }),
});
