// An organization that invites people, a real mail server, and people who read their mail and accept.
import type { Express } from 'express';
import { createApp } from '../../../src/app.ts';
import type { Ctx } from '../../../src/core/ctx.ts';
import { createLog } from '../../../src/core/log.ts';
import type { QueueWorker } from '../../../src/db/queue-worker.ts';
import { inTransaction, type Tx } from '../../../src/db/transaction.ts';
import { startMailSender } from '../../../src/mail/index.ts';
import { type Answer, type Api, apiOf } from '../../setup/api.ts';
import { type TestDatabase, testDatabase, testSettings } from '../../setup/database.ts';
import { makeKey, makeMember, makeOrganization, makePerson, makeSession } from '../../setup/organization.ts';
import { type MailServer, startMailServer } from '../../setup/smtp.ts';
import { until } from '../../setup/until.ts';

export type World = {
  readonly ctx: Ctx;
  readonly database: TestDatabase;
  readonly app: Express;
  readonly mails: MailServer;
  readonly sender: QueueWorker;
  /** All log lines. */
  readonly lines: string[];
  readonly organization: { id: string; slug: string; ownerId: string };
  /** A key of the owner. */
  readonly owner: Api;
  readonly invitations: string;
  as<T>(organizationId: string, work: (tx: Tx) => Promise<T>): Promise<T>;
  roleId(name: string, organizationId?: string): Promise<string>;
  makeRole(permissions: readonly string[]): Promise<string>;
  /** A management key of a member with this role. */
  memberApi(role: string | readonly string[]): Promise<{ id: string; api: Api }>;
  invite(email: string, role?: string): Promise<{ id: string; email: string }>;
  /** The token in the newest mail to the address, after `count` mails to it have arrived. */
  tokenOf(email: string, count?: number): Promise<string>;
  accept(token: string, headers: Record<string, string>): Promise<Answer>;
  /** Signs the person in, creating them if unknown. */
  signIn(
    email: string,
    activeOrganization?: string | null,
  ): Promise<{ id: string; sessionId: string; headers: Record<string, string> }>;
  close(): Promise<void>;
};

export async function invitationWorld(): Promise<World> {
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
  const owner = apiOf(app, (await makeKey(ctx, organization.id, { permissions: ['write'] })).secret);
  const as: World['as'] = (organizationId, work) => inTransaction({ db: ctx.db, organizationId }, work);
  const roleId: World['roleId'] = (name, organizationId = organization.id) =>
    as(organizationId, async (tx) => (await tx('roles').where({ name }).first<{ id: string }>('id')).id);
  const invitations = `/organizations/${organization.id}/invitations`;
  const arrived = (email: string) => mails.delivered.filter(({ to }) => to.includes(email));
  return {
    ctx,
    database,
    app,
    mails,
    sender,
    lines,
    organization,
    owner,
    invitations,
    as,
    roleId,
    makeRole: async (permissions) => {
      const { id } = await makeMember(ctx, organization.id, permissions);
      return as(
        organization.id,
        async (tx) =>
          (await tx('memberships').where({ user_id: id }).first<{ role_id: string }>('role_id')).role_id,
      );
    },
    memberApi: async (role) => {
      const { id } = await makeMember(ctx, organization.id, role);
      return {
        id,
        api: apiOf(
          app,
          (await makeKey(ctx, organization.id, { permissions: ['write'], createdBy: id })).secret,
        ),
      };
    },
    invite: async (email, role = 'viewer') => {
      const answer = await owner('post', invitations, { email, roleId: await roleId(role) });
      if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
      return answer.body;
    },
    tokenOf: async (email, count = 1) => {
      const found = await until(async () => (arrived(email).length >= count ? arrived(email) : undefined));
      const token = /#token=([A-Za-z0-9_-]{43})\n/.exec(found.at(-1)?.mail.text ?? '')?.[1];
      if (token === undefined) throw new Error('the mail holds no token');
      return token;
    },
    accept: (token, headers) => apiOf(app, null)('post', '/invitations/accept', { token }, headers),
    signIn: async (email, activeOrganization = null) => {
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
