// API6:2023 Unrestricted access to sensitive business flows. Five invitations an hour to one address:
// test/platform/invitations; subscription mails per day and manual sends: test/platform/subscriptions;
// unsubscribe links opened by programs: test/platform/subscriptions/unsubscribe; the rate limit that REST and
// the messages of MCP share: test/mcp/endpoint. Here the floods: a client that repeats a flow that sends, costs
// or creates much is stopped.
import { beforeEach, describe, expect, it } from 'vitest';
import { defaultQuotas } from '../../src/core/settings/quotas.ts';
import { listCodes, signedInApi } from '../setup/api.ts';
import { makePerson, makeSession } from '../setup/organization.ts';
import { useOrganization } from '../setup/use-organization.ts';

const maxOrganizationsPerPerson = 3;
const quotas = { ...defaultQuotas, invitations: 6 };
const org = useOrganization({
  settings: { allowSignup: true, rateLimitPerMinute: 60, quotas, maxOrganizationsPerPerson },
});
beforeEach(() => org.ctx.db.control.raw('delete from rate_limits'));

const invite = (email: string) =>
  org.api('post', `${org.at}/invitations`, { email, roleId: org.role('viewer') });
const mails = async (): Promise<number> => {
  const [row] = await org.sql((tx) => tx('outgoing_mails').count<{ count: string }[]>({ count: '*' }));
  return Number(row?.count);
};

describe('invitations', () => {
  it('to many addresses stop at the quota, and no more mail is sent', async () => {
    const answers = await Promise.all(
      Array.from({ length: 9 }, (_, index) => invite(`guest-${index}@example.test`)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 201, 201, 201, 422, 422, 422]);
    expect(answers.flatMap(listCodes)).toEqual(Array(3).fill('limit_reached'));
    expect(await mails()).toBe(6);
  });

  it('to one address in any spelling are one, with one mail until it has been sent', async () => {
    const list = () => org.api('get', `${org.at}/invitations`);
    const before = await mails();
    const { body: open } = await list();
    const email: string = open.data[0].email;
    for (const spelled of [email.toUpperCase(), `${email[0]?.toUpperCase()}${email.slice(1)}`, email]) {
      const answer = await invite(spelled);
      expect([answer.status, answer.body.id]).toEqual([201, open.data[0].id]);
    }
    expect([await mails(), (await list()).body.pagination.total]).toEqual([before, open.pagination.total]);
  });

  it.each([
    'a@example.test\r\nBcc: b@example.test',
    'a@example.test,b@example.test',
    'a@example.test;b@example.test',
    '<a@example.test>',
    '"a b"@example.test, c@d.e',
    'a@example.test\u2028b',
  ])('to %j are rejected: one address, no header', async (email) => {
    const before = await mails();
    const answer = await invite(email);
    expect([answer.status, await mails()]).toEqual([422, before]);
  });
});

describe('sign-up', () => {
  it('limits the organizations of a person, whatever the way', async () => {
    const person = await makePerson(org.ctx, 'collector@example.test');
    const { cookie } = await makeSession(org.ctx, person.id);
    const api = signedInApi(org.app, org.ctx, cookie);
    const make = (name: string) => api('post', '/organizations', { name });
    const statuses: number[] = [];
    for (let count = 0; count < maxOrganizationsPerPerson + 1; count += 1)
      statuses.push((await make(`Another ${count}`)).status);
    expect(statuses).toEqual([201, 201, 201, 422]);
    expect((await make('More')).body.error.details).toMatchObject([{ code: 'limit_reached' }]);
  });
});
