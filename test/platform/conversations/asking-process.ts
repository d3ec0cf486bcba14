// A service process that sends a message to itself and is then killed by the test. Its argument names the
// database and the request.
import { createApp } from '../../../src/app.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { createLog } from '../../../src/core/log.ts';
import { createGuardedFetch } from '../../../src/core/network/guarded-fetch.ts';
import { createKeyring } from '../../../src/core/secrets/keyring.ts';
import { createAccountLimits } from '../../../src/core/work/account-limits.ts';
import { createTrackedWork } from '../../../src/core/work/tracked-work.ts';
import { openDb } from '../../../src/db/connect.ts';
import { serve } from '../../setup/event-stream.ts';

const { address, settings, secret, path } = JSON.parse(process.argv[2] ?? '{}');
const { url } = await serve(
  createApp({
    db: openDb(address, address, { control: 2, data: 2 }, settings.readTimeoutMs),
    settings,
    clock: systemClock,
    log: createLog('silent'),
    fetch: createGuardedFetch({ allowPrivateHosts: true }),
    keyring: createKeyring([{ id: 'test', bytes: Buffer.alloc(32) }]),
    work: createTrackedWork(),
    erpLimits: createAccountLimits(),
  }),
);
await fetch(`${url}${path}`, {
  method: 'POST',
  headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
  body: JSON.stringify({ content: 'Will you live to tell?' }),
});
