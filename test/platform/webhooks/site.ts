// An organization with synced records, a published version, and a receiver of webhooks. Messages are sent when the test
// lets the worker run.
import { createApp } from '../../../src/app.ts';
import type { Ctx } from '../../../src/core/ctx.ts';
import { inTransaction, type Tx } from '../../../src/db/transaction.ts';
import { enterVersions } from '../../../src/platform/api-schemas/shown-columns.ts';
import { startWebhooks } from '../../../src/platform/webhooks/deliver.ts';
import { createCaller, publishVersion, withReads } from '../../public/fixture.ts';
import { type Answer, createApi } from '../../setup/api.ts';
import { makeDue } from '../../setup/jobs.ts';
import { makeKey } from '../../setup/organization.ts';
import { datedFields, memoryErp, syncFixture } from '../../sync/fixture.ts';
import { startReceiver } from './receiver.ts';

const fields = ['name', 'total'].map((name) => ({ name, source: name, scopable: true }));
export const endpoint = { name: 'things', recordType: 'thing', fields };

export type WebhookSite = Awaited<ReturnType<typeof openWebhookSite>>;

export async function openWebhookSite(ctx: Ctx) {
  const fixture = await syncFixture(ctx, memoryErp(datedFields));
  const { erp, organizationId } = fixture;
  // Its list of deletions confirms them, however many there are.
  erp.deleted = new Map();
  erp.put(1);
  await fixture.sync();
  await publishVersion(ctx, organizationId, { endpoints: [endpoint] });
  await enterVersions(fixture.tenant);
  const reading = withReads(ctx);
  const app = createApp(ctx, { reads: reading.reads });
  const manager = await makeKey(ctx, organizationId, { permissions: ['write'] });
  const reader = await makeKey(ctx, organizationId, { permissions: ['none'] });
  const api = createApi(app, manager.secret);
  const worker = startWebhooks(reading, { pollMs: 3_600_000 });
  const receiver = await startReceiver();
  const call = async (...given: Parameters<typeof api>): Promise<Answer['body']> => {
    const answer = await api(...given);
    if (answer.status >= 300) throw new Error(`${given.join(' ')}: ${answer.status} ${answer.text}`);
    return answer.body;
  };
  const create = (given: object = {}) =>
    call('post', '/webhooks', {
      ...{ url: receiver.url, events: ['records.changed'], version: 'v1', keyId: reader.id, ...given },
    });
  const sql = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
    inTransaction({ db: ctx.db, organizationId }, work);
  return {
    ...{ sql, ctx, app, api, call, fixture, erp, organizationId, reader, receiver, worker, create },
    read: createCaller(app, { secret: reader.secret, organizationId }),
    /** Sends what is due now, whatever the database's clock says. */
    work: async (): Promise<void> => {
      // A turn in progress may have looked before what the test has done since.
      await worker.waitUntilIdle();
      await sql((tx) => makeDue(tx, 'webhooks'));
      await worker.waitUntilIdle();
    },
    deliveries: async (id: string, query = ''): Promise<Answer['body'][]> =>
      (await call('get', `/webhooks/${id}/deliveries${query}`)).data,
    stop: async (): Promise<void> => {
      await worker.stop();
      await receiver.stop();
    },
  };
}
