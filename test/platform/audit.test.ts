// Requests without an audit entry, and secrets that never appear in a log line.
// test/contract/every-route.test.ts checks for all operations that every write adds exactly one entry, and
// that no entry or log line contains a secret.
import { describe, expect, it } from 'vitest';
import { createLog } from '../../src/core/log.ts';
import { useOrganization } from '../setup/use-organization.ts';

const org = useOrganization();

const countRows = () => org.sql(async (tx) => (await tx('audit_log').select('id')).length);

describe('the audit log', () => {
  it('has no entry for requests that were refused or changed nothing', async () => {
    const before = await countRows();
    expect((await org.api('post', '/api-keys', { name: '' })).status).toBe(422);
    expect((await org.api('post', '/api-schema', { basedOn: 'v99' })).status).toBe(422);
    expect((await org.api('get', '/api-keys')).status).toBe(200);
    expect(await countRows()).toBe(before);
  });

  it('names the person, the credential and the request', async () => {
    const answer = await org.api('post', '/api-keys', { name: 'Key' });
    const rows = await org.sql((tx) => tx('audit_log').where({ target_id: answer.body.id }).select('*'));
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
