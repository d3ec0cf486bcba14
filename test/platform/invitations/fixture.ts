import { createApp } from '../../../src/app.ts';
import type { Ctx } from '../../../src/core/ctx.ts';
import { createLog } from '../../../src/core/log.ts';
import { inTransaction, type Tx } from '../../../src/db/transaction.ts';
import { startMailSender } from '../../../src/mail/index.ts';
import { createApi } from '../../setup/api.ts';
import { testDatabase, testSettings } from '../../setup/database.ts';
import { makeKey, makeMember, makeOrganization, makePerson, makeSession } from '../../setup/organization.ts';
import { startMailServer } from '../../setup/smtp.ts';
import { until } from '../../setup/until.ts';

export async function openInvitationSite() {
  const mails = await startMailServer();
  const settings = {
    publicUrl: 'http://portal.example.test',
    mail: { ...testSettings.mail, smtpUrl: mails.url },
  };
  const database = await testDatabase({ settings });
  const lines: string[] = [];
  const ctx: Ctx = {
    ...database.ctx,
    log: createLog('trace', { write: (line: string) => void lines.push(line) }),
  };
  const app = createApp(ctx);
  const sender = startMailSender(ctx, { pollMs: 100 });
  const organization = await makeOrganization(ctx, { name: 'Aster & Sons' });
  const owner = createApi(app, (await makeKey(ctx, organization.id, { permissions: ['write'] })).secret);
  const as = <T>(organizationId: string, work: (tx: Tx) => Promise<T>): Promise<T> =>
    inTransaction({ db: ctx.db, organizationId }, work);
  const roleId = (name: string, organizationId = organization.id): Promise<string> =>
    as(organizationId, async (tx) => (await tx('roles').where({ name }).first<{ id: string }>('id')).id);
  const invitations = `/organizations/${organization.id}/invitations`;
  const arrived = (email: string) => mails.delivered.filter(({ to }) => to.includes(email));
  return {
    ctx,
    database,
    app,
    mails,
    sender,
    /** All log lines. */
    lines,
    organization,
    /** A key of the owner. */
    owner,
    invitations,
    as,
    roleId,
    makeRole: async (permissions: readonly string[]): Promise<string> => {
      const { id } = await makeMember(ctx, organization.id, permissions);
      return as(
        organization.id,
        async (tx) =>
          (await tx('memberships').where({ user_id: id }).first<{ role_id: string }>('role_id')).role_id,
      );
    },
    /** A management key of a member with this role. */
    memberApi: async (role: string | readonly string[]) => {
      const { id } = await makeMember(ctx, organization.id, role);
      return {
        id,
        api: createApi(
          app,
          (await makeKey(ctx, organization.id, { permissions: ['write'], createdBy: id })).secret,
        ),
      };
    },
    invite: async (email: string, role = 'viewer'): Promise<{ id: string; email: string }> => {
      const answer = await owner('post', invitations, { email, roleId: await roleId(role) });
      if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
      return answer.body;
    },
    /** The token in the newest mail to the address, after `count` mails to it have arrived. */
    getToken: async (email: string, count = 1): Promise<string> => {
      const found = await until(async () => (arrived(email).length >= count ? arrived(email) : undefined));
      const token = /#token=([A-Za-z0-9_-]{43})\n/.exec(found.at(-1)?.mail.text ?? '')?.[1];
      if (token === undefined) throw new Error('the mail holds no token');
      return token;
    },
    accept: (token: string, headers: Record<string, string>) =>
      createApi(app, null)('post', '/invitations/accept', { token }, headers),
    /** Signs the person in, creating them if unknown. */
    signIn: async (email: string, activeOrganization: string | null = null) => {
      const person = await makePerson(ctx, email);
      const session = await makeSession(ctx, person.id, activeOrganization);
      return { id: person.id, sessionId: session.id, headers: session.headers };
    },
    close: async () => {
      await sender.stop();
      await mails.close();
      await database.close();
    },
  };
}
export type InvitationSite = Awaited<ReturnType<typeof openInvitationSite>>;
