// A key for a member, from the operator's hand: for whoever lost the last one that may make others.
import { z } from 'zod';
import { inTransaction } from '../db/transaction.ts';
import { Email, shortText } from '../http/fields.ts';
import { plainWords } from '../http/plain-words.ts';
import { NewApiKey } from '../platform/api-keys/api-keys.schemas.ts';
import { issueApiKey } from '../platform/api-keys/api-keys.service.ts';
import { BadArguments, defineCommand, listed, option, RefusedCommand } from './command.ts';
import { auditOperator, findOrganization, organizationOption } from './operator.ts';

/** The option that gave what stands at this place of a new key. */
const optionOf = ([first, second]: readonly PropertyKey[]): string =>
  `--${first === 'expiresAt' ? 'expires' : String(first === 'scopes' ? second : first)}`;

export const issueKey = defineCommand({
  name: 'issue-key',
  summary: 'Makes an API key that acts for a member, and prints it once.',
  about:
    'The key may do what its member may, as far as its scopes go: without any it reads everything, `--permissions write` also changes, and with\n' +
    'versions or resources it is kept to the public interface. It ends with the membership, with --expires, or when it is revoked.',
  database: 'check',
  alone: false,
  given: z.strictObject({
    organization: organizationOption,
    user: option(Email, 'address', 'the member for whom the key acts'),
    name: option(shortText(120), 'name', 'what the key is called'),
    permissions: option(listed, 'read,write', 'what it may do: read unless told; write includes read'),
    versions: option(listed, 'v1,v2', 'the published versions that it is kept to'),
    resources: option(listed, 'a,b', 'the resources that it is kept to'),
    expires: option(z.string().optional(), 'instant', 'when it ends, such as 2027-01-31T00:00:00Z'),
  }),
  async run({ ctx, owner }, { organization: named, user, name, expires, ...scopes }) {
    const wanted = { name, scopes, ...(expires !== undefined && { expiresAt: expires }) };
    const parsed = NewApiKey.safeParse(wanted, { error: plainWords });
    if (!parsed.success) throw new BadArguments(parsed.error.issues.map(({ path, message }) => `${optionOf(path)}: ${message}`).join('\n'));
    const organization = await findOrganization({ owner }, named);
    const made = await inTransaction({ db: ctx.db, organizationId: organization.id }, async (tx) => {
      const member = await tx('memberships as m')
        .join('users as u', 'u.id', 'm.user_id')
        .where('m.organization_id', organization.id)
        .whereRaw('lower(u.email) = lower(?)', [user])
        .forKeyShare('m')
        .first<{ id: string } | undefined>('u.id');
      if (member === undefined) throw new RefusedCommand(`${user} is no member of ${organization.name}`);
      const by = { organizationId: organization.id, clock: ctx.clock, userId: member.id };
      return issueApiKey(tx, by, parsed.data, (entry) => auditOperator(tx, organization.id, entry));
    });
    return {
      json: { id: made.id, organizationId: organization.id, prefix: made.prefix, secret: made.secret },
      text: `organization ${organization.name}\nkey          ${made.secret}\nid           ${made.id}\n\nThe key is shown this once: keep it safe.`,
    };
  },
});
