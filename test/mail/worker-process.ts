// A mail sender in a process of its own, so that a test can kill it where no cleaning up runs.
import { readFileSync } from 'node:fs';
import { systemClock } from '../../src/core/clock.ts';
import { openGuardedFetch } from '../../src/core/guarded-fetch.ts';
import { openKeyring } from '../../src/core/keyring.ts';
import { openLog } from '../../src/core/log.ts';
import { openDb } from '../../src/db/connect.ts';
import { startMailSender } from '../../src/mail/index.ts';

const given = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));
startMailSender(
  {
    db: openDb(given.address, given.address, { control: 5, data: 2 }, 5_000),
    clock: systemClock,
    log: openLog('silent'),
    fetch: openGuardedFetch({ allowPrivateHosts: true }),
    keyring: openKeyring([{ id: 'test', bytes: Buffer.from(given.key, 'base64') }]),
    settings: given.settings,
  },
  given.options,
);
