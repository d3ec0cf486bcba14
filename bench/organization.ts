// An organization with a management key, as an operator would make it.
import type { Ctx } from '../src/core/ctx.ts';
import { newId } from '../src/core/id.ts';
import { inTransaction } from '../src/db/transaction.ts';
import { makeApiKey } from '../src/identity/api-key.ts';
import { createOrganization } from '../src/platform/organizations/organizations.service.ts';

export async function newOrganization(ctx: Ctx): Promise<{ id: string; key: string }> {
  const organization = await createOrganization(ctx, { name: 'Bench', slug: `bench-${newId()}`, ownerEmail: 'owner@bench.example' });
  const key = makeApiKey();
  await inTransaction({ db: ctx.db, organizationId: organization.id }, (tx) =>
    tx('api_keys').insert({
      id: newId(),
      organization_id: organization.id,
      name: 'bench',
      prefix: key.prefix,
      secret_hash: key.hash,
      scope_permissions: ['write'],
      created_by: organization.ownerId,
    }),
  );
  return { id: organization.id, key: key.secret };
}
