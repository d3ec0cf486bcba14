// A mail sender in its own process, so that a test can kill it without any cleanup.

import { systemClock } from '../../src/core/clock.ts';
import { createLog } from '../../src/core/log.ts';
import { createGuardedFetch } from '../../src/core/network/guarded-fetch.ts';
import { createKeyring } from '../../src/core/secrets/keyring.ts';
import { createAccountLimits } from '../../src/core/work/account-limits.ts';
import { createTrackedWork } from '../../src/core/work/tracked-work.ts';
import { openDb } from '../../src/db/connect.ts';
import { startMailSender } from '../../src/mail/index.ts';

const given = JSON.parse(process.argv[2] ?? '');
startMailSender(
  {
    db: openDb(given.address, given.address, { control: 5, data: 2 }, 5_000),
    clock: systemClock,
    log: createLog('silent'),
    fetch: createGuardedFetch({ allowPrivateHosts: true }),
    keyring: createKeyring([{ id: 'test', bytes: Buffer.from(given.key, 'base64') }]),
    work: createTrackedWork(),
    erpLimits: createAccountLimits(),
    settings: given.settings,
  },
  given.options,
);
