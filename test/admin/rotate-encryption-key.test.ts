// Rotation of the encryption key next to a running service.
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { encryptedColumns } from '../../src/admin/encrypted-columns.ts';
import type { TenantCtx } from '../../src/core/ctx.ts';
import { createId } from '../../src/core/id.ts';
import { createKeyring, DecryptionError } from '../../src/core/secrets/keyring.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { sandbox } from '../../src/gateways/payments/sandbox/sandbox.ts';
import { getTokenSigner, type TokenSigner } from '../../src/identity/record-token.store.ts';
import { decryptMail } from '../../src/mail/enqueue.ts';
import { enqueueMail, layoutMail, storeAttachment } from '../../src/mail/index.ts';
import { sealSecrets } from '../../src/platform/pay/provider/accounts.ts';
import { ensureMaskSecret, SchemaDocument } from '../../src/public/index.ts';
import { pluck } from '../setup/api.ts';
import { openIssuer } from '../setup/issuer.ts';
import { useOrganization } from '../setup/use-organization.ts';
import { type Operator, useOperators } from './fixture.ts';

const key = (id: string) => ({ id, bytes: randomBytes(32) });
const [old, fresh, lost] = [key('old'), key('new'), key('lost')];
const site = useOrganization({ alter: (ctx) => ({ ...ctx, keyring: createKeyring([old]) }) });
const operators = useOperators(site);
type Keys = Parameters<typeof createKeyring>[0];
const openTenant = (keys: Keys = [old], organizationId = site.id): TenantCtx => ({
  ...{ ...site.ctx, organizationId, keyring: createKeyring(keys) },
});

const words = layoutMail({ title: 'Hello', paragraphs: ['Words'] });
/** Queues a mail with a shared attachment and returns its id. */
const mailBy = (tenant: TenantCtx): Promise<string> =>
  inTransaction(tenant, async (tx) => {
    const file = { filename: 'a.bin', contentType: 'application/octet-stream', content: randomBytes(100) };
    const sharedAttachmentId = await storeAttachment(tx, tenant, file);
    const mail = { kind: 'test', to: { address: 'a@b.test' }, subject: 'x', ...words };
    return enqueueMail(tx, tenant, { ...mail, sharedAttachmentId });
  });

describe('rotate-encryption-key', () => {
  const mails: string[] = [];
  let rotating: Operator;
  let signer: TokenSigner;

  /** Writes values of the organization to every encrypted column, as the service does. */
  async function fillEncryptedColumns(): Promise<void> {
    const { api } = site;
    const tenant = openTenant();
    const tba = { method: 'tba', consumerKey: 'ck', tokenId: 'ti', consumerSecret: 'cs', tokenSecret: 'ts' };
    const connection = { accountId: '1234567', authentication: tba };
    expect((await api('put', '/netsuite/connection', connection)).status).toBe(200);
    for (let slot = 1; slot <= 2; slot += 1)
      expect((await api('post', '/netsuite/connection/certificate')).status).toBe(201);
    const openIdConnect = { issuer: await openIssuer(), clientId: 'portal', clientSecret: 'cs' };
    expect((await api('put', '/portal/sign-in', { openIdConnect })).status).toBe(200);
    const { id: keyId } = (await api('post', '/api-keys', { name: 'Reader' })).body;
    const webhook = { url: 'https://a.test', events: ['sync.failed'], keyId };
    const made = await api('post', '/webhooks', webhook);
    expect(made.status).toBe(201);
    expect((await api('post', `/webhooks/${made.body.id}/rotate`, {})).status).toBe(200);
    const id = createId();
    const hashed = { name: 'a', recordType: 'a', fields: [{ name: 'a', source: 'a', mask: 'hash' }] };
    signer = await site.sql(async (tx) => {
      const sealed = sealSecrets(tenant, id, { secretKey: 'sk', webhookSecret: 'ws' });
      await tx('pay_accounts').insert({ ...sealed, id, provider: 'stripe', organization_id: site.id });
      await ensureMaskSecret(tx, tenant, SchemaDocument.parse({ endpoints: [hashed] }).endpoints);
      return getTokenSigner(tx, tenant);
    });
    const provider = await sandbox.create(tenant, { id, secrets: {}, publicUrl: 'https://b.test' });
    const ids = { checkoutId: createId(), paymentId: createId() };
    const amount = { amountMinor: 1n, currency: 'GBP' };
    const pages = { successUrl: 'https://a.test', cancelUrl: 'https://a.test' };
    const what = { title: 'x', items: [], record: null, expiresAt: new Date('2100-01-01') };
    await provider.createCheckout({ ...ids, amount, ...pages, ...what }, new AbortController().signal);
  }
  const counted = async () =>
    (await rotating.run('rotate-encryption-key', '--dry-run')).json['left'] as (Record<
      'table' | 'column' | 'keyId',
      string
    > & { values: number })[];
  const sum = (left: { values: number }[]) => left.reduce((total, { values }) => total + values, 0);

  it('re-encrypts every value while mail is queued and sent, and counts the values', async () => {
    const other = await site.another();
    await fillEncryptedColumns();
    for (const organizationId of [site.id, other.id])
      for (let sent = 0; sent < 12; sent += 1) mails.push(await mailBy(openTenant([old], organizationId)));
    rotating = operators.open(createKeyring([fresh, old]));
    const before = await counted();
    const columns = new Set(before.map(({ table, column }) => `${table}.${column}`));
    expect([columns.size, new Set(pluck(before, 'keyId'))]).toEqual([
      encryptedColumns.length,
      new Set(['old']),
    ]);
    const serving = openTenant([fresh, old], other.id);
    const sendMails = async () => {
      for (let sent = 0; sent < 10; sent += 1) {
        mails.push(await mailBy(serving));
        const [queued, ended] = [{ id: mails[12 + sent] }, { status: 'sent', body: null }];
        await other.sql((tx) => tx('outgoing_mails').where(queued).update(ended));
      }
    };
    const [rotated] = await Promise.all([rotating.run('rotate-encryption-key'), sendMails()]);
    expect(rotated).toMatchObject({ incomplete: false, json: { key: 'new', left: [], unlisted: [] } });
    const closed = Number(rotated.json['closed']);
    expect(closed).toBeGreaterThanOrEqual(sum(before) - 10);
    expect(closed).toBeLessThanOrEqual(sum(before));
    const traces = await Promise.all(
      [site.id, other.id].map((id) => operators.readAudit(id, 'encryption-key.rotate')),
    );
    const audits = traces.flat().map(({ changes }) => Number(changes['values']));
    expect([traces.map((rows) => rows.length), audits.reduce((a, b) => a + b, 0)]).toEqual([[1, 1], closed]);
  });

  it('leaves nothing that needs the old key', async () => {
    const only = createKeyring([fresh]);
    type Row = Parameters<typeof decryptMail>[1];
    type Attachment = NonNullable<Parameters<typeof decryptMail>[2]>;
    const rows = await site.admin('outgoing_mails').whereNotNull('body').select<Row[]>('*');
    const attachments = await site.admin('mail_attachments').select<Attachment[]>('*');
    expect(rows).toHaveLength(24);
    for (const row of rows) {
      const shared = attachments.find(({ id }) => id === row.attachment_id);
      expect((await decryptMail({ keyring: only }, row, shared)).attachments).toHaveLength(1);
      const decrypting = decryptMail({ keyring: createKeyring([old]) }, row, shared);
      await expect(decrypting).rejects.toThrow(DecryptionError);
    }
    expect((await site.sql((tx) => getTokenSigner(tx, openTenant([fresh])))).kid).toBe(signer.kid);
    const operator = operators.open(only);
    const verified = { problems: [], sealed: { unreadable: {} } };
    expect((await operator.run('verify-restore')).json).toMatchObject(verified);
    const text = expect.stringContaining('nothing to rotate');
    expect(await operator.run('rotate-encryption-key')).toMatchObject({ incomplete: false, text });
  });

  it('run again it does nothing, except for values that a process with the old key first has written since', async () => {
    expect((await rotating.run('rotate-encryption-key')).json).toMatchObject({ closed: 0, left: [] });
    await mailBy(openTenant([old, fresh]));
    expect(sum(await counted())).toBe(2);
    expect((await rotating.run('rotate-encryption-key')).json).toMatchObject({ closed: 2, left: [] });
  });

  it('reports values that it cannot decrypt, and encrypted values where it expects none', async () => {
    await mailBy(openTenant([lost]));
    await mailBy(openTenant([key('old')]));
    const description = `see ${createKeyring([old]).encrypt('x', 'y')}`;
    await site.sql((tx) => tx('roles').where({ name: 'viewer' }).update({ description }));
    const { json, text, incomplete: left } = await rotating.run('rotate-encryption-key');
    expect(left).toBe(true);
    expect(json).toMatchObject({ closed: 0, unlisted: ['roles.description'] });
    expect(pluck(json['left'], 'keyId').sort()).toEqual(['lost', 'lost', 'old', 'old']);
    const expected = ['missing in ENCRYPTION_KEY: lost', 'still encrypted with old'];
    for (const message of [...expected, 'expects none: roles.description']) expect(text).toContain(message);
    const verified = await rotating.run('verify-restore');
    expect(verified.incomplete).toBe(true);
    expect(verified.json['problems']).toContain("outgoing_mails.body under lost: 1 value can't be decrypted");
  });
});
