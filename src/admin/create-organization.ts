// The way in without the demo: an organization, its owner and a first key.
import { z } from 'zod';
import { newId } from '../core/id.ts';
import { inTransaction } from '../db/transaction.ts';
import { Email, shortText } from '../http/fields.ts';
import { makeApiKey } from '../identity/api-key.ts';
import { insertApiKey } from '../platform/api-keys/api-keys.store.ts';
import { createOrganization as makeOrganization } from '../platform/organizations/organizations.service.ts';
import { defineCommand, option } from './command.ts';
import { auditOperator } from './operator.ts';

const slug = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must be lower-case letters, digits and hyphens');

export const createOrganization = defineCommand({
  name: 'create-organization',
  summary: 'Makes an organization with its owner, and prints its id and a management key with full access, once.',
  about: 'The owner signs in with that address, or is known by the key alone. Without a slug one is made of the name.',
  database: 'migrate',
  alone: false,
  given: z.strictObject({
    name: option(shortText(120), 'name', 'what it is called'),
    ownerEmail: option(Email, 'address', 'its owner, made if unknown'),
    slug: option(slug.optional(), 'slug', 'its short name in addresses'),
  }),
  async run({ ctx }, given) {
    const { slug: wanted, ...rest } = given;
    const organization = await makeOrganization(ctx, { ...rest, ...(wanted !== undefined && { slug: wanted }) });
    const key = makeApiKey();
    await inTransaction({ db: ctx.db, organizationId: organization.id }, async (tx) => {
      await insertApiKey(tx, organization.id, {
        id: newId(),
        name: 'First management key',
        prefix: key.prefix,
        secret_hash: key.hash,
        scope_versions: [],
        scope_resources: [],
        scope_permissions: ['write'],
        expires_at: null,
        created_by: organization.ownerId,
      });
      await auditOperator(tx, organization.id, {
        action: 'organization.create',
        target: { type: 'organization', id: organization.id },
        changes: { ...given, key: key.prefix },
      });
    });
    return {
      json: { id: organization.id, slug: organization.slug, name: organization.name, managementKey: key.secret },
      text: `organization   ${organization.name}\nid             ${organization.id}\nslug           ${organization.slug}\nmanagement key ${key.secret}\n\nThe key is shown this once: keep it safe.`,
    };
  },
});
