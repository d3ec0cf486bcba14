// An organization with members, each calling with their own key.
import type { Express } from 'express';
import type { Ctx } from '../../../src/core/ctx.ts';
import { inTransaction } from '../../../src/db/transaction.ts';
import { type Api, apiOf, signedInApi } from '../../setup/api.ts';
import { makeKey, makeMember, makeOrganization, makeSession } from '../../setup/organization.ts';

export type Person = {
  readonly id: string;
  readonly email: string;
  readonly api: Api;
  readonly secret: string;
  readonly keyId: string;
};

export async function world(ctx: Ctx, app: Express) {
  const organization = await makeOrganization(ctx);
  const at = `/organizations/${organization.id}`;
  const withKey = async (id: string, email: string): Promise<Person> => {
    const key = await makeKey(ctx, organization.id, { permissions: ['write'], createdBy: id });
    return { id, email, api: apiOf(app, key.secret), secret: key.secret, keyId: key.id };
  };
  const owner = await withKey(organization.ownerId, '');
  const roles: { id: string; name: string }[] = (await owner.api('get', `${at}/roles`)).body.data;
  return {
    id: organization.id,
    at,
    owner,
    /** Id of a built-in role. */
    role: (name: string): string => roles.find((role) => role.name === name)?.id ?? '',
    /** A member with a built-in role by name, or with a role that has only these permissions. */
    join: async (role: string | readonly string[]): Promise<Person> => {
      const { id, email } = await makeMember(ctx, organization.id, role);
      return withKey(id, email);
    },
    /** A member without a key. */
    joinBare: (role: string | readonly string[]) => makeMember(ctx, organization.id, role),
    session: async (userId: string): Promise<Api> =>
      signedInApi(app, ctx, (await makeSession(ctx, userId, organization.id)).cookie),
    roleIdOf: (userId: string): Promise<string> =>
      inTransaction({ db: ctx.db, organizationId: organization.id }, async (tx) => {
        const row = await tx('memberships').where({ user_id: userId }).first<{ role_id: string }>('role_id');
        return row.role_id;
      }),
    /** The current permissions of a secret. */
    permissionsOf: async (secret: string): Promise<string[]> =>
      (await apiOf(app, secret)('get', '/whoami')).body.permissions,
  };
}
export type World = Awaited<ReturnType<typeof world>>;
