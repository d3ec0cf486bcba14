// Creates an organization with a management key, as an operator would.
import type { Ctx } from '../src/core/ctx.ts';
import { createId } from '../src/core/id.ts';
import { inTransaction } from '../src/db/transaction.ts';
import { generateApiKey } from '../src/identity/api-key.ts';
import { provisionOrganization } from '../src/platform/organizations/organizations.service.ts';

export async function createBenchOrganization(ctx: Ctx): Promise<{ id: string; key: string }> {
  const organization = await provisionOrganization(ctx, {
    name: 'Bench',
    slug: `bench-${createId()}`,
    ownerEmail: 'owner@bench.example',
  });
  const key = generateApiKey();
  await inTransaction({ db: ctx.db, organizationId: organization.id }, (tx) =>
    tx('api_keys').insert({
      id: createId(),
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
