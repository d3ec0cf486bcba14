// Creates an organization with its owner and a first API key: the start of an installation without the demo.
import { z } from 'zod';
import { createId } from '../core/id.ts';
import { inTransaction } from '../db/transaction.ts';
import { Email, shortText } from '../http/fields.ts';
import { generateApiKey } from '../identity/api-key.ts';
import { allowsSignInLinks, createOwnerLink } from '../identity/sign-in-link.ts';
import { insertApiKey } from '../platform/api-keys/api-keys.store.ts';
import { pendingNote, provisionOrganization } from '../platform/organizations/organizations.service.ts';
import { defineCommand, option } from './command.ts';
import { auditOperator } from './operator.ts';
import { describeLink } from './sign-in-link.ts';

const slug = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must be lower-case letters, digits and hyphens');

export const createOrganizationCommand = defineCommand({
  name: 'create-organization',
  summary:
    'Creates an organization with its owner, and prints its id and, only this once, an API key with full access.',
  about:
    'The owner signs in with that address, or only uses the key. Without --slug, the slug is derived from the name.',
  database: 'migrate',
  input: z.strictObject({
    name: option(shortText(120), 'name', 'its name'),
    ownerEmail: option(Email, 'address', 'e-mail address of its owner, who is created if unknown'),
    slug: option(slug.optional(), 'slug', 'its short name in URLs'),
  }),
  async run({ ctx }, input) {
    const { slug: requestedSlug, ...rest } = input;
    const organization = await provisionOrganization(ctx, {
      ...rest,
      ...(requestedSlug !== undefined && { slug: requestedSlug }),
    });
    const key = generateApiKey();
    await inTransaction({ db: ctx.db, organizationId: organization.id }, async (tx) => {
      await insertApiKey(tx, organization.id, {
        id: createId(),
        name: 'First management key',
        prefix: key.prefix,
        secret_hash: key.hash,
        scope_versions: [],
        scope_resources: [],
        scope_permissions: ['write'],
        expires_at: null,
        created_by: organization.ownerId,
      });
      await auditOperator(tx, organization.id, 'organization.create', ['organization', organization.id], {
        ...input,
        key: key.prefix,
      });
    });
    const link = allowsSignInLinks(ctx.settings) ? await createOwnerLink(ctx, organization.id) : undefined;
    const signIn = link === undefined ? '' : `\n\n${describeLink(link)}`;
    return {
      json: {
        id: organization.id,
        slug: organization.slug,
        name: organization.name,
        managementKey: key.secret,
        signInLink: link?.link ?? null,
      },
      text: `organization   ${organization.name}\nid             ${organization.id}\nslug           ${organization.slug}\nmanagement key ${key.secret}\n\nThe key is only shown this once. Store it safely.${signIn}${organization.pending === null ? '' : `\n${pendingNote}`}`,
    };
  },
});
