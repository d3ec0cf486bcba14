// Requests without an audit entry, and secrets that never appear in a log line.
// test/contract/every-route.test.ts checks for all operations that every write adds exactly one entry, and
// that no entry or log line contains a secret.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { createLog } from '../../src/core/log.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { type Api, apiOf } from '../setup/api.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';

let database: TestDatabase;
let organizationId: string;
let owner: Api;

beforeAll(async () => {
  database = await testDatabase();
  organizationId = (await makeOrganization(database.ctx)).id;
  owner = apiOf(
    createApp(database.ctx),
    (await makeKey(database.ctx, organizationId, { permissions: ['write'] })).secret,
  );
});
afterAll(() => database.close());

const countRows = () =>
  inTransaction(
    { db: database.ctx.db, organizationId },
    async (tx) => (await tx('audit_log').select('id')).length,
  );

describe('the audit log', () => {
  it('has no entry for requests that were refused or changed nothing', async () => {
    const before = await countRows();
    expect((await owner('post', '/api-keys', { name: '' })).status).toBe(422);
    expect((await owner('post', '/api-schema', { basedOn: 'v99' })).status).toBe(422);
    expect((await owner('get', '/api-keys')).status).toBe(200);
    expect(await countRows()).toBe(before);
  });

  it('names the person, the credential and the request', async () => {
    const answer = await owner('post', '/api-keys', { name: 'Key' });
    const rows = await inTransaction({ db: database.ctx.db, organizationId }, (tx) =>
      tx('audit_log').where({ target_id: answer.body.id }).select('*'),
    );
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({
      action: 'api-key.create',
      target_type: 'api-key',
      actor_id: answer.body.createdBy.id,
      actor_email: answer.body.createdBy.email,
      credential_kind: 'api-key',
      request_id: answer.headers['x-request-id'],
      ip: '127.0.0.1',
    });
  });
});

describe('the log', () => {
  it('redacts secrets by name at any depth', () => {
    const out: string[] = [];
    const log = createLog('info', { write: (line: string) => void out.push(line) });
    log.info(
      {
        authorization: 'Bearer hidden',
        a: { secret: 'hidden', b: { token: 'hidden', privateKeyPem: 'hidden' } },
        list: [{ password: 'hidden' }],
      },
      'x',
    );
    log.info(
      { err: Object.assign(new Error('y'), { headers: { cookie: 'hidden', authorization: 'hidden' } }) },
      'y',
    );
    log.child({ apiKey: 'hidden' }).info('z');
    expect(out.join('')).not.toContain('hidden');
  });
});
