// Creates an API key for a member, for example after the last key that may create others was lost.
import { z } from 'zod';
import { inTransaction } from '../db/transaction.ts';
import { Email, shortText } from '../http/fields.ts';
import { validationMessage } from '../http/route/validation-messages.ts';
import { NewApiKey } from '../platform/api-keys/api-keys.schemas.ts';
import { issueApiKey } from '../platform/api-keys/api-keys.service.ts';
import { BadArguments, commaList, defineCommand, option, RefusedCommand } from './command.ts';
import { auditOperator, getNamedOrganization, organizationOption } from './operator.ts';

/** The command line option for a property of a new key, given by its path. */
const toOption = ([first, second]: readonly PropertyKey[]): string =>
  `--${first === 'expiresAt' ? 'expires' : String(first === 'scopes' ? second : first)}`;

export const issueKeyCommand = defineCommand({
  name: 'issue-key',
  summary: 'Creates an API key that acts for a member, and prints it, only this once.',
  about:
    "The key has its member's permissions, limited by its scopes: without any it may read everything, with `--permissions write` also\n" +
    'change it, and with `--permissions none`, versions or resources it may only use the public interface. It is valid until the\n' +
    'membership ends, --expires, or it is revoked.',
  input: z.strictObject({
    organization: organizationOption,
    user: option(Email, 'address', 'the member for whom the key acts'),
    name: option(shortText(120), 'name', 'the name of the key'),
    permissions: option(commaList, 'read|write|none', 'what it may do; default: read; write includes read'),
    versions: option(commaList, 'v1,v2', 'restricts it to these published versions'),
    resources: option(commaList, 'a,b', 'restricts it to these resources'),
    expires: option(z.string().optional(), 'instant', 'when it expires, such as 2027-01-31T00:00:00Z'),
  }),
  async run({ ctx, owner }, { organization: slugOrId, user, name, expires, ...scopes }) {
    const input = { name, scopes, ...(expires !== undefined && { expiresAt: expires }) };
    const parsed = NewApiKey.safeParse(input, { error: validationMessage });
    if (!parsed.success)
      throw new BadArguments(
        parsed.error.issues.map(({ path, message }) => `${toOption(path)}: ${message}`).join('\n'),
      );
    const organization = await getNamedOrganization({ owner }, slugOrId);
    const created = await inTransaction({ db: ctx.db, organizationId: organization.id }, async (tx) => {
      const member = await tx('memberships as m')
        .join('users as u', 'u.id', 'm.user_id')
        .where('m.organization_id', organization.id)
        .whereRaw('lower(u.email) = lower(?)', [user])
        .forKeyShare('m')
        .first<{ id: string } | undefined>('u.id');
      if (member === undefined) throw new RefusedCommand(`${user} is not a member of ${organization.name}`);
      const by = { organizationId: organization.id, clock: ctx.clock, userId: member.id };
      return issueApiKey(tx, by, parsed.data, (entry) => auditOperator(tx, organization.id, ...entry));
    });
    return {
      json: {
        id: created.id,
        organizationId: organization.id,
        prefix: created.prefix,
        secret: created.secret,
      },
      text: `organization ${organization.name}\nkey          ${created.secret}\nid           ${created.id}\n\nThe key is only shown this once. Store it safely.`,
    };
  },
});
