// The unsubscribe link of a mail: one POST unsubscribes one recipient, and only they can undo it.
import { beforeAll, describe, expect, it } from 'vitest';
import { pluck } from '../../setup/api.ts';
import { useStarted } from '../../setup/use-started.ts';
import { openSubscriptionSite } from './fixture.ts';

const site = useStarted(() => openSubscriptionSite());
let viewId: string;
beforeAll(async () => {
  viewId = await site.view();
  site.send();
});

let made = 0;
/** Creates a subscription with two recipients and one sent slot; `link` is the first recipient's. */
async function sent() {
  made += 1;
  const [ada, bob] = [`ada-${made}@example.test`, `bob-${made}@example.test`];
  const { id } = await site.subscribe({ viewId, schedule: '0 0 1 1 *', recipients: [ada, bob] });
  await deliver(id, ['sent', 'sent']);
  return { id, ada, bob, link: site.findLink(ada) };
}
async function deliver(id: string, statuses: readonly string[]): Promise<void> {
  expect((await site.owner('post', `/subscriptions/${id}/send`)).status).toBe(202);
  await site.tick();
  await site.settled(id, statuses);
}
const readRecipients = async (id: string): Promise<Record<string, string>> => {
  const { body } = await site.owner('get', `/subscriptions/${id}`);
  return Object.fromEntries(pluck(body.recipients, 'email', 'status'));
};
const post = (link: string, body: string, type: string | undefined) =>
  site.visit('post', link, type === undefined ? {} : { 'content-type': type }, body || undefined);
const parseToken = (link: string): string => new URL(link).searchParams.get('token') ?? '';

describe('the unsubscribe link', () => {
  it('GET shows the recipient, the subscription and a button, and changes nothing', async () => {
    const { id, ada, link } = await sent();
    const page = await site.visit('get', link);
    expect([page.status, page.type]).toEqual([200, 'text/html']);
    expect(page.text).toContain(`Aster &amp; Sons sends mails like “Open invoices” to ${ada}.`);
    expect(page.text).toMatch(
      /<form method="post" action="\/unsubscribe\?token=[\w-]{43}"><button type="submit">Unsubscribe</,
    );
    expect(page.headers).toMatchObject({
      'content-security-policy': expect.stringContaining("form-action 'self'"),
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    });
    expect(page.text).not.toContain('<script');
    expect(await readRecipients(id)).toMatchObject({ [ada]: 'active' });
  });

  it.each([
    ['as a mail program posts it', 'List-Unsubscribe=One-Click', 'application/x-www-form-urlencoded'],
    ['without a body', '', undefined],
    [
      'as multipart',
      '--x\r\ncontent-disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--\r\n',
      'multipart/form-data; boundary=x',
    ],
  ])('POST %s unsubscribes immediately: no sign-in, no cookie, no redirect', async (_name, body, type) => {
    const { id, ada, bob, link } = await sent();
    const response = await post(link, body, type);
    expect(response.status).toBe(200);
    for (const name of ['location', 'set-cookie']) expect(response.headers).not.toHaveProperty(name);
    expect(response.text).toContain(`${ada} will receive no more mails`);
    expect(await readRecipients(id)).toEqual({ [ada]: 'unsubscribed', [bob]: 'active' });
    const again = await post(link, body, type);
    expect([again.status, again.text]).toEqual([200, response.text]);
    await deliver(id, ['sent', 'sent', 'sent', 'skipped']);
    expect(site.mailsTo(ada)).toHaveLength(1);
    expect((await site.visit('get', link)).text).toContain('You are unsubscribed');
  });

  it('can be undone only by its own button, which is audited like unsubscribing', async () => {
    const { id, ada, link } = await sent();
    const page = await site.visit('post', link);
    expect(page.text).toContain(`action="/unsubscribe/undo?token=${parseToken(link)}"`);
    const recipients = [ada.toUpperCase(), 'new@example.test'];
    await site.owner('patch', `/subscriptions/${id}`, { recipients });
    expect(await readRecipients(id)).toEqual({ [ada]: 'unsubscribed', 'new@example.test': 'active' });
    await site.owner('patch', `/subscriptions/${id}`, { recipients: ['new@example.test'] });
    await site.owner('patch', `/subscriptions/${id}`, { recipients: [ada] });
    expect(await readRecipients(id)).toEqual({ [ada]: 'unsubscribed' });
    const back = await site.visit('post', link.replace('/unsubscribe?', '/unsubscribe/undo?'));
    expect(back.text).toMatch(/sends mails like “[^”]+” to/);
    expect(await readRecipients(id)).toEqual({ [ada]: 'active' });
    const log = `/organizations/${site.organization.id}/audit-log?targetId=${id}&pageSize=3`;
    expect(pluck((await site.owner('get', log)).body.data, 'action')).toContain('subscription.resubscribe');
  });

  it('cancels the queued mail of that recipient, and no other one', async () => {
    const { id, ada, bob, link } = await sent();
    await site.stopSenders();
    await deliver(id, ['sent', 'sent', 'queued', 'queued']);
    await site.visit('post', link);
    site.send();
    const found = await site.settled(id, ['sent', 'sent', 'sent', 'skipped']);
    expect(found.find(({ status }) => status === 'skipped')?.recipient).toBe(ada);
    expect([site.mailsTo(ada).length, site.mailsTo(bob).length]).toEqual([1, 2]);
  });

  it('shows when the recipient was removed from the list, and 404 for an unknown link or a deleted subscription', async () => {
    const { id, ada, bob, link } = await sent();
    await site.owner('patch', `/subscriptions/${id}`, { recipients: [bob] });
    expect((await site.visit('get', link)).text).toContain(`has removed ${ada} from the list`);
    expect((await site.owner('delete', `/subscriptions/${id}`)).status).toBe(204);
    const unknown = ['https://portal.example.test/unsubscribe', `${link}&token=x`, link.slice(0, -1)];
    for (const address of [link, ...unknown])
      for (const method of ['get', 'post'] as const) {
        const { status, text } = await site.visit(method, address);
        expect([method, address, status]).toEqual([method, address, 404]);
        expect(text).toContain('Unknown link');
      }
  });

  it('is only in its mail: in no row and no log line', async () => {
    const { link } = await sent();
    await site.visit('get', link);
    await site.visit('post', link);
    expect(site.lines.some((line) => line.includes('"/unsubscribe"'))).toBe(true);
    expect(site.lines.join('')).not.toContain(parseToken(link));
    const own = ['links', 'recipients', 'deliveries'].map((end) => `subscription_${end}`);
    for (const name of [...own, 'outgoing_mails', 'audit_log']) {
      const { rows } = await site.as((tx) =>
        tx.raw(`select string_agg(t::text, ' ') as text from ${name} t`),
      );
      expect(rows[0].text).not.toContain(parseToken(link));
    }
  });
});
