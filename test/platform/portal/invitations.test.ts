// Invitations to the portal: who gets one, how many that are before it is sent, and what the mail says.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { type MailSenderOptions, startMailSender } from '../../../src/mail/sender.ts';
import { loadCompany, settings } from '../../portal/company.ts';
import { addDomain, asOwner, type PortalOwner, switchOff, switchOn } from '../../portal/served-portal.ts';
import { openBrowser } from '../../portal/visiting.ts';
import { createApi, refusal } from '../../setup/api.ts';
import { until } from '../../setup/until.ts';
import { useOrganization } from '../../setup/use-organization.ts';

const mailLimit = { maxSubscriptionMailsPerDay: 10_000 };
const org = useOrganization({
  ...{ mail: true, dns: true, name: 'Aster Holding' },
  alter: (ctx) => ({
    ...ctx,
    settings: {
      ...ctx.settings,
      mail: Object.defineProperty({ ...ctx.settings.mail }, 'maxSubscriptionMailsPerDay', {
        get: () => mailLimit.maxSubscriptionMailsPerDay,
      }),
    },
  }),
});
/** More than one batch of mails. */
const many = 230;
const customers = [
  { id: 1, name: 'Aster', email: 'Orders@Aster.example', isinactive: false },
  { id: 2, name: 'Birch', email: 'shared@birch.example; second@birch.example', isinactive: false },
  { id: 3, name: 'Cedar', email: 'SHARED@birch.example', isinactive: false },
  { id: 4, name: 'Dove', email: null, isinactive: false },
  { id: 5, name: 'Elm', email: 'gone@elm.example', isinactive: true },
  { id: 6, name: 'Fir', email: 'blocked@fir.example', isinactive: false },
  { id: 7, name: 'Gorse', email: 'known@gorse.example', isinactive: false },
  ...Array.from({ length: many }, (_, at) => ({
    ...{ id: 1_000 + at, name: `Many ${at}`, email: `many${at}@many.example`, isinactive: false },
  })),
];
const contacts = [{ id: 11, email: 'ada@people.example', company: 3, isinactive: false }];
const invoices = [1, 3, 3, 4].map((entity, at) => ({
  ...{ id: 100 + at, tranid: `INV-${at}`, trandate: '2026-01-15', duedate: '2026-02-15' },
  ...{ total: 10, unpaid: at, entity, status: 'open' },
}));

let owner: PortalOwner;
let sender: ReturnType<typeof startMailSender>;
const fast: MailSenderOptions = { pollMs: 50 };
beforeAll(async () => {
  await loadCompany(org.ctx, org.id, { customers, contacts, invoices });
  owner = await asOwner(org);
  await switchOn(owner);
  await owner.api('post', '/portal/visitors', { email: 'blocked@fir.example', blocked: true });
  await owner.api('post', '/portal/visitors', { email: 'hand@accountants.example', customers: ['1', '7'] });
  await openBrowser(org).signIn('known@gorse.example');
  sender = startMailSender(org.ctx, fast);
});
afterAll(() => sender.stop());
beforeEach(async () => {
  org.mails.delivered.length = 0;
  await org.admin('outgoing_mails').delete();
  await org.admin('portal_visitors').update({ invited_at: null });
  await org.admin('rate_limits').delete();
});

type View = { recordType?: string; columns?: string[]; filters?: object[] };
const makeView = async ({ recordType = 'customer', columns = ['name'], filters = [] }: View = {}) => {
  const name = `View ${Math.trunc(performance.now() * 1_000)}`;
  const { status, body } = await owner.api('post', '/views', {
    ...{ name, recordType, columns, filters, visibility: 'organization' },
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body.id as string;
};
const invite = (body: object) => owner.api('post', '/portal/invitations', body);
const send = async (body: object) => {
  const answer = await invite({ dryRun: false, ...body });
  expect(answer.status).toBe(200);
  return answer.body;
};
/** The addresses to which mails were delivered, once all that are queued have been. */
async function readDelivered(): Promise<string[]> {
  await until(async () => {
    const [waiting] = await org.admin('outgoing_mails').whereNot('status', 'sent').count('* as count');
    return Number(waiting?.['count']) === 0;
  });
  return org.mails.delivered.flatMap(({ to }) => to).sort();
}
const few = { field: 'id', operator: 'lt', value: 1_000 };
const invited = [
  ...['Orders@Aster.example', 'ada@people.example', 'hand@accountants.example'],
  ...['second@birch.example', 'shared@birch.example'],
].sort();
const counts = {
  ...{ customers: 7, withoutAddress: 2, addresses: 7 },
  ...{ invited: 5, alreadySignedIn: 1, blocked: 1, skipped: 0 },
};

describe('an invitation of a view', () => {
  it('is counted and not sent, unless it is no dry run', async () => {
    const viewId = await makeView({ filters: [few] });
    const { status, body } = await invite({ viewId });
    expect([status, body]).toEqual([200, { ...counts, dryRun: true }]);
    expect(await readDelivered()).toEqual([]);
    expect((await owner.api('get', '/portal/visitors?q=orders')).body.data).toEqual([]);
  });

  it('goes once to each address of its customers, as the ERP has it, and to those by hand', async () => {
    const viewId = await makeView({ filters: [few] });
    expect(await send({ viewId })).toEqual({ ...counts, dryRun: false });
    expect(await readDelivered()).toEqual(invited);
    const [entry] = (await owner.api('get', '/portal/visitors?q=orders')).body.data;
    expect(entry).toMatchObject({ email: 'orders@aster.example', lastSignInAt: null });
    expect(entry.invitedAt).not.toBeNull();
    const [log] = (await owner.api('get', `${org.at}/audit-log?action=portal.invite-visitors`)).body.data;
    expect(log.changes).toMatchObject({ viewId, again: false, ...counts });
  });

  it('may be one of records that name their customer', async () => {
    const viewId = await makeView({
      recordType: 'invoice',
      columns: ['tranid'],
      filters: [{ field: 'unpaid', operator: 'gt', value: 0 }],
    });
    expect(await send({ viewId })).toMatchObject({
      customers: 2,
      withoutAddress: 1,
      addresses: 2,
      invited: 2,
    });
    expect(await readDelivered()).toEqual(['SHARED@birch.example', 'ada@people.example']);
    const people = await makeView({ recordType: 'contact', columns: ['email'] });
    expect((await invite({ viewId: people })).body).toMatchObject({ customers: 1, addresses: 2 });
  });

  it('reaches no one twice within 24 hours, unless that is asked for', async () => {
    const viewId = await makeView({ filters: [few] });
    await send({ viewId });
    expect(await send({ viewId })).toMatchObject({ invited: 0, skipped: 5, alreadySignedIn: 1 });
    expect(await readDelivered()).toHaveLength(5);
    expect(await send({ viewId, again: true })).toMatchObject({ invited: 6, skipped: 0, blocked: 1 });
    expect(await readDelivered()).toHaveLength(11);
    const yesterday = new Date(Date.now() - 25 * 3_600_000);
    await org.admin('portal_visitors').update({ invited_at: yesterday });
    expect(await send({ viewId })).toMatchObject({ invited: 5 });
  });

  it('reaches no one twice when it is sent twice at once, also by several processes', async () => {
    const viewId = await makeView();
    const processes = [org.app, createApp(org.ctx)].map((app) => createApi(app, org.owner.secret));
    const answers = await Promise.all(
      [...processes, ...processes].map((api) =>
        api('post', '/portal/invitations', { viewId, dryRun: false }),
      ),
    );
    const sums = answers.map(({ status, body }) => {
      expect(status).toBe(200);
      return body.invited as number;
    });
    expect(sums.reduce((sum, one) => sum + one, 0)).toBe(many + 5);
    const delivered = await readDelivered();
    expect([delivered.length, new Set(delivered).size]).toEqual([many + 5, many + 5]);
  });

  it('stops at the mails of a day, and goes on with the others on the next', async () => {
    const viewId = await makeView();
    mailLimit.maxSubscriptionMailsPerDay = 150;
    expect((await invite({ viewId })).body).toMatchObject({ invited: 150, skipped: many - 145 });
    expect(await send({ viewId })).toMatchObject({ invited: 150, skipped: many - 145 });
    expect(await send({ viewId })).toMatchObject({ invited: 0 });
    mailLimit.maxSubscriptionMailsPerDay = 10_000;
    expect(await send({ viewId })).toMatchObject({ invited: many - 145, skipped: 150 });
    const delivered = await readDelivered();
    expect(new Set(delivered).size).toBe(many + 5);
  });

  it('is refused for a view of something else, or of someone else', async () => {
    const reader = await org.join(['portal:create', 'record:read', 'view:read', 'view:create']);
    const own = await reader.api('post', '/views', {
      ...{ name: 'Own', recordType: 'customer', columns: ['name'], visibility: 'private' },
    });
    expect(own.status).toBe(201);
    expect(await refusal(invite({ viewId: own.body.id }))).toEqual([422, 'unknown_view']);
    expect((await reader.api('post', '/portal/invitations', { viewId: own.body.id })).status).toBe(200);
    const withoutRecords = await org.join(['portal:create']);
    const refused = await withoutRecords.api('post', '/portal/invitations', { email: 'a@b.example' });
    expect(refused.status).toBe(403);
    expect((await invite({})).status).toBe(422);
    expect((await invite({ email: 'a@b.example', viewId: own.body.id })).status).toBe(422);
  });
});

describe('an invitation of an address', () => {
  it('goes to the address as the ERP has it', async () => {
    expect(await send({ email: ' orders@ASTER.example' })).toEqual({
      ...{ customers: 1, withoutAddress: 0, addresses: 1, invited: 1 },
      ...{ alreadySignedIn: 0, blocked: 0, skipped: 0, dryRun: false },
    });
    expect(await readDelivered()).toEqual(['Orders@Aster.example']);
  });

  it('goes to no one who is blocked, or no customer', async () => {
    expect(await send({ email: 'blocked@fir.example', again: true })).toMatchObject({
      invited: 0,
      blocked: 1,
    });
    for (const email of ['nobody@elsewhere.example', 'gone@elm.example'])
      expect(await refusal(invite({ email }))).toEqual([422, 'no_customer']);
    expect(await readDelivered()).toEqual([]);
  });

  it('is refused while the portal is off', async () => {
    const other = await org.another();
    await loadCompany(org.ctx, other.id, { customers: customers.slice(0, 1) });
    const its = await asOwner(other);
    const ask = () => its.api('post', '/portal/invitations', { email: 'orders@aster.example' });
    expect(await refusal(ask())).toEqual([422, 'portal_off']);
    await switchOn(its);
    expect((await ask()).status).toBe(200);
    await switchOff(its);
    expect(await refusal(ask())).toEqual([422, 'portal_off']);
  });
});

describe('the mail', () => {
  const readMail = async () => {
    await send({ email: 'orders@aster.example', again: true });
    await readDelivered();
    const { mail } = org.mails.delivered.at(-1) ?? {};
    return {
      from: mail?.from?.name,
      subject: mail?.subject ?? '',
      text: mail?.text ?? '',
      html: mail?.html ?? '',
    };
  };

  it('leads to the sign-in of the portal, without a code', async () => {
    const { from, subject, text, html } = await readMail();
    const address = `${org.ctx.settings.publicUrl}/portal/${org.slug}/sign-in`;
    expect([from, subject]).toEqual(['Aster Holding', 'Your documents and payments at Aster Holding']);
    expect(text).toContain(address);
    expect(html).toContain(`href="${address}"`);
    expect(text).not.toMatch(/\d{3} ?\d{3}/);
    const page = await openBrowser(org).get('/sign-in');
    expect(page.status).toBe(200);
  });

  it('has the name, the sender and the support address of the branding, as text', async () => {
    const name = 'Aster <b>&</b> Co';
    await owner.api('put', '/portal/branding', {
      ...{ name, senderName: 'Aster accounts', supportAddress: 'help@aster.example' },
    });
    const { from, subject, text, html } = await readMail();
    expect([from, subject]).toEqual(['Aster accounts', `Your documents and payments at ${name}`]);
    expect(text).toContain('Questions? help@aster.example');
    expect(html).not.toContain('<b>');
    await owner.api('put', '/portal/branding', {});
  });

  it.each([
    ['de', 'Ihre Belege und Zahlungen', 'Portal öffnen'],
    ['fr', 'Vos documents et paiements', 'Ouvrir le portail'],
    ['es', 'Sus documentos y pagos', 'Abrir el portal'],
    ['nl', 'Uw documenten en betalingen', 'Portaal openen'],
  ])('is in the default language of the portal: %s', async (defaultLanguage, subjectPart, action) => {
    await switchOn(owner, { ...settings, defaultLanguage });
    const { subject, text, html } = await readMail();
    expect(subject).toContain(subjectPart);
    expect(text).toContain(action);
    expect(html).toContain(`<html lang="${defaultLanguage}">`);
  });

  it('leads to the domain of the portal, where it has one', async () => {
    await addDomain(owner, org.dns, 'portal.aster-invites.example');
    expect((await readMail()).text).toContain('https://portal.aster-invites.example/sign-in');
  });
});
