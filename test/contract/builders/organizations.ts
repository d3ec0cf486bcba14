import { createHash, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { createId } from '../../../src/core/id.ts';
import { assignablePermissions } from '../../../src/core/permissions.ts';
import { inTransaction } from '../../../src/db/transaction.ts';
import { makeKey, makeMember, makeOrganization } from '../../setup/organization.ts';
import { instants, laterInstants } from '../arbitrary.ts';
import { asBuilt, type BuilderGroup, type Fixture, insertRow } from '../builder.ts';

const own = ({ organization }: Fixture) => ({ id: organization.id });
const freshName = fc.uuid().map((id) => `Name ${id}`);

/** A role without permissions, which everyone may therefore grant. */
const powerlessRole = (fixture: Fixture): Promise<string> =>
  insertRow(fixture, 'roles', { name: `role ${createId()}`, permissions: [] });

const ofRole = async (fixture: Fixture) => ({
  params: { ...own(fixture), roleId: await powerlessRole(fixture) },
});
const roleFields = {
  'body.name': freshName,
  'body.permissions[]': fc.constantFrom(...assignablePermissions),
};

async function invitation(fixture: Fixture): Promise<string> {
  const body = { email: `guest-${createId()}@example.test`, roleId: await powerlessRole(fixture) };
  const answer = await fixture.api('POST', `/organizations/${fixture.organization.id}/invitations`, body);
  return String(answer.body.id);
}
const ofInvitation = async (fixture: Fixture) => ({
  params: { ...own(fixture), invitationId: await invitation(fixture) },
});

async function member(fixture: Fixture): Promise<string> {
  return (await makeMember(fixture.ctx, fixture.organization.id, [])).id;
}

export const organizationBuilders: BuilderGroup = {
  builders: {
    listOrganizations: { build: () => ({}) },
    getOrganization: { build: (fixture) => ({ params: own(fixture) }) },
    updateOrganization: {
      build: (fixture) => ({ params: own(fixture), body: { name: 'Other name' } }),
      fields: { 'body.slug': fc.stringMatching(/^[a-z][a-z0-9]{11}$/) },
    },
    deleteOrganization: {
      build: (fixture) => ({ params: own(fixture), query: { confirm: fixture.organization.slug } }),
      fields: { 'query.confirm': asBuilt },
      destroys: true,
      inputs: 20,
    },
    listMembers: {
      build: async (fixture) => ({ params: own(fixture), query: { roleId: await powerlessRole(fixture) } }),
      fields: { 'query.roleId': asBuilt, 'query.role': asBuilt },
    },
    getMember: { build: (fixture) => ({ params: { ...own(fixture), userId: fixture.owner.id } }) },
    updateMember: {
      build: async (fixture) => ({
        params: { ...own(fixture), userId: await member(fixture) },
        body: { roleId: await powerlessRole(fixture) },
      }),
      fields: { 'body.roleId': asBuilt, 'body.role': asBuilt },
    },
    deleteMember: {
      build: async (fixture) => {
        const userId = await member(fixture);
        await makeKey(fixture.ctx, fixture.organization.id, { createdBy: userId });
        const query = { keys: 'transfer', transferTo: fixture.owner.id, gracePeriodSeconds: '3600' };
        return { params: { ...own(fixture), userId }, query };
      },
      fields: { 'query.keys': asBuilt, 'query.transferTo': asBuilt, 'query.gracePeriodSeconds': asBuilt },
    },
    listRoles: { build: (fixture) => ({ params: own(fixture) }) },
    createRole: {
      build: (fixture) => ({
        params: own(fixture),
        body: { name: `Role ${fixture.next()}`, description: '', permissions: [] },
      }),
      fields: roleFields,
      repeatable: true,
    },
    getRole: { build: ofRole },
    updateRole: {
      build: async (fixture) => ({ ...(await ofRole(fixture)), body: { description: 'Other words' } }),
      fields: roleFields,
    },
    deleteRole: { build: ofRole },
    listPermissions: { build: (fixture) => ({ params: own(fixture) }) },
    listAuditLog: {
      build: (fixture) => ({ params: own(fixture), query: { actorId: fixture.owner.id } }),
      fields: {
        'query.action': fc.constant('role.create'),
        'query.after': instants,
        'query.before': laterInstants,
      },
    },
    listInvitations: { build: (fixture) => ({ params: own(fixture) }) },
    createInvitation: {
      build: async (fixture) => ({
        params: own(fixture),
        body: { email: `guest-${fixture.next()}@example.test`, roleId: await powerlessRole(fixture) },
      }),
      fields: { 'body.roleId': asBuilt, 'body.role': asBuilt },
      repeatable: true,
    },
    getInvitation: { build: ofInvitation },
    deleteInvitation: { build: ofInvitation },
    resendInvitation: { build: ofInvitation },
  },
};

/** Accepting makes the owner a member of several organizations, so this needs its own owner. */
export const invitedBuilders: BuilderGroup = {
  builders: {
    acceptInvitation: {
      build: async ({ ctx, owner }) => {
        const host = await makeOrganization(ctx);
        const token = randomBytes(32).toString('base64url');
        await inTransaction({ db: ctx.db, organizationId: host.id }, async (tx) => {
          const role = await tx('roles').where({ name: 'viewer' }).first<{ id: string }>('id');
          await tx('invitations').insert({
            id: createId(),
            organization_id: host.id,
            email: owner.email,
            role_id: role?.id,
            role_name: 'viewer',
            token_hash: createHash('sha256').update(token).digest(),
            invited_by: host.ownerId,
            expires_at: '2100-01-01T00:00:00Z',
          });
        });
        return { body: { token } };
      },
      fields: { 'body.token': asBuilt },
      // The invitation names the owner's address.
      mayRefuse: ['other_address'],
      inputs: 20,
    },
  },
};
