// The demo's people, one per role. The identity provider signs them in; the newcomer has no organization and
// can try sign-up.
import type { Ctx } from '../src/core/ctx.ts';
import { createId } from '../src/core/id.ts';
import type { BuiltInRole } from '../src/core/permissions.ts';
import { inTransaction } from '../src/db/transaction.ts';
import type { DemoPerson } from './identity-provider/identity-provider.ts';

export const owner = {
  id: 'demo-owner',
  email: 'owner@demo.example',
  name: 'Demo owner',
  about: 'Owner: may do everything',
};
const editor = {
  id: 'demo-editor',
  email: 'editor@demo.example',
  name: 'Demo editor',
  about: 'Editor: writes syncs and drafts',
};
const viewer = {
  id: 'demo-viewer',
  email: 'viewer@demo.example',
  name: 'Demo viewer',
  about: 'Viewer: reads everything',
};
const newcomer = {
  id: 'demo-newcomer',
  email: 'newcomer@demo.example',
  name: 'Demo newcomer',
  about: 'Has no organization yet',
};

export const demoPeople: readonly DemoPerson[] = [owner, editor, viewer, newcomer];

const members: readonly (readonly [DemoPerson, BuiltInRole])[] = [
  [editor, 'editor'],
  [viewer, 'viewer'],
];

/** Adds the editor and the viewer to the organization; existing members keep their role. */
export const addMembers = (ctx: Ctx, organizationId: string): Promise<void> =>
  inTransaction({ db: ctx.db, organizationId }, async (tx) => {
    for (const [{ email, name }, role] of members) {
      await tx.raw(
        `insert into memberships (organization_id, user_id, role_id)
         select r.organization_id, ensure_user(?, ?, ?), r.id from roles r where r.organization_id = ? and r.built_in and r.name = ?
         on conflict do nothing`,
        [createId(), email, name, organizationId, role],
      );
    }
  });
