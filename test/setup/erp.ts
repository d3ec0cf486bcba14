// A simulated ERP account for a test file, with the shipped sample of data, and how an organization connects
// to it. Only the set-up in the ERP is abridged: the connection itself is created through the management
// interface.
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { type NetsuiteAccount, type NetsuiteAccountOptions, startNetsuiteAccount } from 'netsuite-simulator';
import { inject } from 'vitest';
import { createLoadedDatabase } from '../../packages/netsuite-simulator/test/loaded-account.ts';
import { profile } from './account-profile.ts';
import type { Answer, Method } from './api.ts';
import { asSuperuser } from './superuser.ts';

export const dataFolder = fileURLToPath(new URL('../../demo/data', import.meta.url));
export const accountId = 'TSTDRV1234567';

/** Calls the management interface, in this process or over HTTP. */
export type Call = (method: Method, path: string, body?: unknown) => Promise<Pick<Answer, 'status' | 'body'>>;

export type Erp = {
  readonly account: NetsuiteAccount;
  /** The account's own database, for direct changes by a test. */
  readonly database: string;
  /** For `settings.erp.allowedHosts`. */
  readonly host: string;
  /**
   * Connects the caller's organization with a certificate of its own and returns its ids. `by` is the URL at
   * which the service reaches the account. Rejects with an Error for an unexpected response.
   */
  connect(api: Call, by?: string): Promise<{ clientId: string; certificateId: string }>;
  stop(): Promise<void>;
};

/**
 * Uses the shipped sample of data unless another folder in that format is given, and the profile of the
 * environment unless one is given.
 */
export async function startErp(
  folder = dataFolder,
  options: Pick<NetsuiteAccountOptions, 'port' | 'replayFrom' | 'switches' | 'control' | 'profile'> = {},
): Promise<Erp> {
  const admin = inject('pg');
  const wanted = options.profile ?? profile;
  const database = `erp_${randomBytes(6).toString('hex')}`;
  if (folder === dataFolder && options.replayFrom === undefined)
    await createLoadedDatabase(database, folder, wanted);
  const account = await startNetsuiteAccount({
    admin,
    database,
    dataFolder: folder,
    accountId,
    ...options,
    ...(wanted !== undefined && { profile: wanted }),
  });
  return {
    account,
    database,
    host: new URL(account.url).host,
    async connect(api, by = account.url) {
      const { clientId } = await account.createIntegration('Portal Service');
      const connection = (certificateId: string | null) => ({
        accountId,
        baseUrl: by,
        authentication: { method: 'oauth2', clientId, certificateId },
      });
      const expectStatus = async (status: number, answer: Awaited<ReturnType<Call>>) => {
        if (answer.status !== status) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
        return answer.body;
      };
      await expectStatus(200, await api('put', '/netsuite/connection', connection(null)));
      const made = await expectStatus(201, await api('post', '/netsuite/connection/certificate'));
      const { certificateId } = await account.uploadCertificate(clientId, made.certificatePem);
      await expectStatus(200, await api('put', '/netsuite/connection', connection(certificateId)));
      return { clientId, certificateId };
    },
    async stop() {
      await account.stop();
      await asSuperuser(admin, (client) =>
        client.query(`drop database if exists "${database}" with (force)`),
      );
    },
  };
}
