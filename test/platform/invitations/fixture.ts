import { createApp } from '../../../src/app.ts';
import type { Ctx } from '../../../src/core/ctx.ts';
import { createLog } from '../../../src/core/log.ts';
import { openKnex } from '../../../src/db/connect.ts';
import { inTransaction, type Tx } from '../../../src/db/transaction.ts';
import { startMailSender } from '../../../src/mail/index.ts';
import { type Answer, createApi } from '../../setup/api.ts';
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
  const makeApi = async (createdBy: string) =>
    createApi(app, (await makeKey(ctx, organization.id, { permissions: ['write'], createdBy })).secret);
  const owner = await makeApi(organization.ownerId);
  const admin = openKnex(database.address, null, 2);
  const roleId = async (name: string, organizationId = organization.id): Promise<string> => {
    const [id] = await admin('roles').where({ name, organization_id: organizationId }).pluck('id');
    return id;
  };
  const invitations = `/organizations/${organization.id}/invitations`;
  const arrived = (email: string) => mails.delivered.filter(({ to }) => to.includes(email));
  /** Invites with a role by its id. */
  const tryInvite = (email: string, role: string, api = owner) =>
    api('post', invitations, { email, roleId: role });
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
    /** The database with the login of the superuser. */
    admin,
    as: <T>(organizationId: string, work: (tx: Tx) => Promise<T>): Promise<T> =>
      inTransaction({ db: ctx.db, organizationId }, work),
    roleId,
    makeRole: async (permissions: readonly string[]): Promise<string> => {
      const { id } = await makeMember(ctx, organization.id, permissions);
      return (await admin('memberships').where({ user_id: id }).first('role_id')).role_id;
    },
    /** A management key of a member with this role. */
    memberApi: async (role: string | readonly string[]) => {
      const { id } = await makeMember(ctx, organization.id, role);
      return { id, api: await makeApi(id) };
    },
    tryInvite,
    invite: async (email: string, role = 'viewer', api = owner): Promise<{ id: string; email: string }> => {
      const answer = await tryInvite(email, await roleId(role), api);
      if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
      return answer.body;
    },
    read: async (id: string): Promise<Answer['body']> => (await owner('get', `${invitations}/${id}`)).body,
    resend: (id: string, api = owner) => api('post', `${invitations}/${id}/resend`),
    revoke: (id: string) => owner('delete', `${invitations}/${id}`),
    /** Changes stored columns of an invitation. */
    change: (id: string, columns: object) => admin('invitations').where({ id }).update(columns),
    /** The audit log of the organization. */
    auditLog: () => admin('audit_log').where({ organization_id: organization.id }),
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
      await admin.destroy();
      await database.close();
    },
  };
}
export type InvitationSite = Awaited<ReturnType<typeof openInvitationSite>>;
