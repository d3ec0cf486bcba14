// Rotation of the encryption key next to a running service.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encryptedColumns } from '../../src/admin/encrypted-columns.ts';
import { createApp } from '../../src/app.ts';
import type { TenantCtx } from '../../src/core/ctx.ts';
import { createId } from '../../src/core/id.ts';
import { createKeyring, DecryptionError } from '../../src/core/keyring.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { sandbox } from '../../src/gateways/payments/sandbox/sandbox.ts';
import { getTokenSigner, type TokenSigner } from '../../src/identity/record-token.store.ts';
import { decryptMail } from '../../src/mail/enqueue.ts';
import { enqueueMail, layoutMail, storeAttachment } from '../../src/mail/index.ts';
import { sealSecrets } from '../../src/platform/pay/provider/accounts.ts';
import { ensureMaskSecret, SchemaDocument } from '../../src/public/index.ts';
import { createApi } from '../setup/api.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import { asAdmin } from '../sync/fixture.ts';
import { createOperator, type Operator } from './fixture.ts';

let database: TestDatabase;
let organization: { id: string; slug: string; ownerId: string };
const operators: Operator[] = [];
const key = (id: string) => ({ id, bytes: randomBytes(32) });
const withKeys = (keyring: ReturnType<typeof createKeyring>): Operator => {
  const made = createOperator({ ...database.ctx, keyring }, database.address);
  operators.push(made);
  return made;
};

beforeAll(async () => {
  database = await testDatabase();
  organization = await makeOrganization(database.ctx, { ownerEmail: 'ada@example.test' });
});
afterAll(async () => {
  for (const one of operators) await one.close();
  await database.close();
});

const audited = (
  organizationId: string,
  action: string,
): Promise<{ credential_kind: string; changes: Record<string, unknown> }[]> =>
  inTransaction({ db: database.ctx.db, organizationId }, (tx) =>
    tx('audit_log').where({ action }).orderBy('id').select('credential_kind', 'changes'),
  );

const words = layoutMail({ title: 'Hello', paragraphs: ['Words'] });
/** Queues a mail with a shared attachment and returns its id. */
const mailBy = (tenant: TenantCtx): Promise<string> =>
  inTransaction(tenant, async (tx) => {
    const content = randomBytes(100);
    const sharedAttachmentId = await storeAttachment(tx, tenant, {
      filename: 'a.bin',
      contentType: 'application/octet-stream',
      content,
    });
    return enqueueMail(tx, tenant, {
      kind: 'test',
      to: { address: 'a@b.test' },
      subject: 'x',
      ...words,
      sharedAttachmentId,
    });
  });

describe('rotate-encryption-key', () => {
  const [old, fresh, lost] = [key('old'), key('new'), key('lost')];
  const mails: string[] = [];
  let rotating: Operator;
  let signer: TokenSigner;

  /** Writes values of the organization to every encrypted column, as the service does. */
  async function fillEncryptedColumns(organizationId: string, keyring: TenantCtx['keyring']): Promise<void> {
    const tenant: TenantCtx = { ...database.ctx, organizationId, keyring };
    const api = createApi(
      createApp(tenant),
      (await makeKey(database.ctx, organizationId, { permissions: ['write'] })).secret,
    );
    const tba = { method: 'tba', consumerKey: 'ck', tokenId: 'ti', consumerSecret: 'cs', tokenSecret: 'ts' };
    expect(
      (await api('put', '/netsuite/connection', { accountId: '1234567', authentication: tba })).status,
    ).toBe(200);
    for (let slot = 1; slot <= 2; slot += 1)
      expect((await api('post', '/netsuite/connection/certificate')).status).toBe(201);
    const id = createId();
    const account = {
      ...sealSecrets(tenant, id, { secretKey: 'sk', webhookSecret: 'ws' }),
      id,
      provider: 'stripe',
    };
    await inTransaction(tenant, (tx) =>
      tx('pay_accounts').insert({ ...account, organization_id: organizationId }),
    );
    const hashed = { name: 'a', recordType: 'a', fields: [{ name: 'a', source: 'a', mask: 'hash' }] };
    await inTransaction(tenant, (tx) =>
      ensureMaskSecret(tx, tenant, SchemaDocument.parse({ endpoints: [hashed] }).endpoints),
    );
    signer = await inTransaction(tenant, (tx) => getTokenSigner(tx, tenant));
    const amount = { amountMinor: 1n, currency: 'GBP' };
    const addresses = {
      successUrl: 'https://a.test',
      cancelUrl: 'https://a.test',
      expiresAt: new Date('2100-01-01'),
      record: null,
    };
    const provider = await sandbox.create(tenant, { id, secrets: {}, publicUrl: 'https://b.test' });
    const order = {
      checkoutId: createId(),
      paymentId: createId(),
      amount,
      title: 'x',
      items: [],
      ...addresses,
    };
    await provider.createCheckout(order, new AbortController().signal);
  }
  const counted = async () =>
    (await rotating.run('rotate-encryption-key', '--dry-run')).json['left'] as {
      table: string;
      column: string;
      keyId: string;
      values: number;
    }[];
  const sum = (left: { values: number }[]) => left.reduce((total, { values }) => total + values, 0);

  it('re-encrypts every value while mail is queued and sent, and counts the values', async () => {
    const other = await makeOrganization(database.ctx);
    await fillEncryptedColumns(organization.id, createKeyring([old]));
    for (const organizationId of [organization.id, other.id])
      for (let sent = 0; sent < 12; sent += 1)
        mails.push(await mailBy({ ...database.ctx, organizationId, keyring: createKeyring([old]) }));
    rotating = withKeys(createKeyring([fresh, old]));
    const before = await counted();
    expect([
      new Set(before.map(({ table, column }) => `${table}.${column}`)).size,
      new Set(before.map(({ keyId }) => keyId)),
    ]).toEqual([encryptedColumns.length, new Set(['old'])]);
    const serving: TenantCtx = {
      ...database.ctx,
      organizationId: other.id,
      keyring: createKeyring([fresh, old]),
    };
    const sendMails = async () => {
      for (let sent = 0; sent < 10; sent += 1) {
        mails.push(await mailBy(serving));
        await inTransaction(serving, (tx) =>
          tx('outgoing_mails')
            .where({ id: mails[12 + sent] })
            .update({ status: 'sent', body: null }),
        );
      }
    };
    const [rotated] = await Promise.all([rotating.run('rotate-encryption-key'), sendMails()]);
    expect(rotated).toMatchObject({ incomplete: false, json: { key: 'new', left: [], unlisted: [] } });
    const closed = Number(rotated.json['closed']);
    expect(closed).toBeGreaterThanOrEqual(sum(before) - 10);
    expect(closed).toBeLessThanOrEqual(sum(before));
    const traces = await Promise.all(
      [organization.id, other.id].map((id) => audited(id, 'encryption-key.rotate')),
    );
    const audits = traces.flat().map(({ changes }) => Number(changes['values']));
    expect([traces.map((rows) => rows.length), audits.reduce((a, b) => a + b, 0)]).toEqual([[1, 1], closed]);
  });

  it('leaves nothing that needs the old key', async () => {
    const only = createKeyring([fresh]);
    const { rows, attachments } = await asAdmin(database, async (admin) => ({
      rows: await admin('outgoing_mails')
        .whereNotNull('body')
        .select<Parameters<typeof decryptMail>[1][]>('*'),
      attachments:
        await admin('mail_attachments').select<NonNullable<Parameters<typeof decryptMail>[2]>[]>('*'),
    }));
    expect(rows).toHaveLength(24);
    for (const row of rows) {
      const shared = attachments.find(({ id }) => id === row.attachment_id);
      expect((await decryptMail({ keyring: only }, row, shared)).attachments).toHaveLength(1);
      await expect(decryptMail({ keyring: createKeyring([old]) }, row, shared)).rejects.toThrow(
        DecryptionError,
      );
    }
    const tenant = { ...database.ctx, organizationId: organization.id, keyring: only };
    expect((await inTransaction(tenant, (tx) => getTokenSigner(tx, tenant))).kid).toBe(signer.kid);
    expect((await withKeys(only).run('verify-restore')).json).toMatchObject({
      problems: [],
      sealed: { unreadable: {} },
    });
    expect(await withKeys(only).run('rotate-encryption-key')).toMatchObject({
      incomplete: false,
      text: expect.stringContaining('nothing to rotate'),
    });
  });

  it('run again it does nothing, except for values that a process with the old key first has written since', async () => {
    expect((await rotating.run('rotate-encryption-key')).json).toMatchObject({ closed: 0, left: [] });
    mails.push(
      await mailBy({
        ...database.ctx,
        organizationId: organization.id,
        keyring: createKeyring([old, fresh]),
      }),
    );
    expect(sum(await counted())).toBe(2);
    expect((await rotating.run('rotate-encryption-key')).json).toMatchObject({ closed: 2, left: [] });
  });

  it('reports values that it cannot decrypt, and encrypted values where it expects none', async () => {
    await mailBy({ ...database.ctx, organizationId: organization.id, keyring: createKeyring([lost]) });
    const impostor = { id: 'old', bytes: randomBytes(32) };
    await mailBy({ ...database.ctx, organizationId: organization.id, keyring: createKeyring([impostor]) });
    await inTransaction({ db: database.ctx.db, organizationId: organization.id }, (tx) =>
      tx('roles')
        .where({ name: 'viewer' })
        .update({ description: `see ${createKeyring([old]).encrypt('x', 'y')}` }),
    );
    const { json, text, incomplete: left } = await rotating.run('rotate-encryption-key');
    expect(left).toBe(true);
    expect(json).toMatchObject({ closed: 0, unlisted: ['roles.description'] });
    expect((json['left'] as { keyId: string }[]).map(({ keyId }) => keyId).sort()).toEqual([
      'lost',
      'lost',
      'old',
      'old',
    ]);
    for (const message of [
      'missing in ENCRYPTION_KEY: lost',
      'still encrypted with old',
      'expects none: roles.description',
    ])
      expect(text).toContain(message);
    const verified = await rotating.run('verify-restore');
    expect([verified.incomplete, verified.json['problems']]).toEqual([
      true,
      expect.arrayContaining(["outgoing_mails.body under lost: 1 value can't be decrypted"]),
    ]);
  });
});
