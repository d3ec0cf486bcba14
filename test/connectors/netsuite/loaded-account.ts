// A simulated account with the shipped data in a profile, and a connector to it that counts its requests.
import { randomBytes } from 'node:crypto';
import { type NetsuiteAccount, type NetsuiteAccountOptions, startNetsuiteAccount } from 'netsuite-simulator';
import { Client } from 'pg';
import { pino } from 'pino';
import { inject } from 'vitest';
import { createLoadedDatabase } from '../../../packages/netsuite-simulator/test/loaded-account.ts';
import type { Connector } from '../../../src/connectors/connector.ts';
import { netsuite } from '../../../src/connectors/netsuite/connector.ts';
import { createAccountLimits } from '../../../src/core/account-limits.ts';
import { createCertificate } from '../../../src/core/certificate.ts';
import { createGuardedFetch } from '../../../src/core/guarded-fetch.ts';
import { dataFolder } from '../../setup/erp.ts';
import { realClock, settingsWith } from './wire.ts';

export type LoadedAccount = {
  readonly account: NetsuiteAccount;
  readonly connector: Connector;
  /** Requests of the connector so far. */
  requests(): number;
  stop(): Promise<void>;
};

export async function startLoadedAccount(profile: NetsuiteAccountOptions['profile']): Promise<LoadedAccount> {
  const admin = inject('pg');
  const database = `account_${randomBytes(6).toString('hex')}`;
  await createLoadedDatabase(database, dataFolder, profile);
  const options = { admin, database, dataFolder, accountId: 'TSTDRV1234567', control: {} };
  const account = await startNetsuiteAccount({ ...options, ...(profile !== undefined && { profile }) });
  const { certificatePem, privateKeyPem } = createCertificate({
    commonName: 'test',
    days: 30,
    keyType: 'ec-p256',
    now: new Date(),
  });
  const { clientId } = await account.createIntegration('test');
  const { certificateId } = await account.uploadCertificate(clientId, certificatePem);
  const fetch = createGuardedFetch({ allowPrivateHosts: true });
  let requests = 0;
  const connector = netsuite.create(
    {
      fetch: (url, request) => {
        requests += 1;
        return fetch(url, request);
      },
      clock: realClock,
      log: pino({ level: 'silent' }),
      settings: settingsWith({ maxResponseBytes: 60_000_000 }),
      erpLimits: createAccountLimits(),
    },
    {
      accountId: account.accountId,
      baseUrl: account.url,
      authentication: { method: 'oauth2', clientId, certificateId },
    },
    { privateKeyPem },
  );
  return {
    account,
    connector,
    requests: () => requests,
    async stop() {
      await account.stop();
      const client = new Client({ ...admin });
      await client.connect();
      await client.query(`drop database if exists ${database} with (force)`);
      await client.end();
    },
  };
}
