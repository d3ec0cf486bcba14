// What an operator does on the machine itself: the way in without the demo.
import { z } from 'zod';
import type { Config } from './config.ts';
import { AppError } from './core/errors.ts';
import { newId } from './core/id.ts';
import type { Lifecycle } from './core/lifecycle.ts';
import { openLog } from './core/log.ts';
import { inTransaction } from './db/transaction.ts';
import { Email, shortText } from './http/fields.ts';
import { makeApiKey } from './identity/api-key.ts';
import { insertApiKey } from './platform/api-keys/api-keys.store.ts';
import { writeAudit } from './platform/audit.store.ts';
import { createOrganization } from './platform/organizations/organizations.service.ts';
import { closeDatabase, openCtx, openDatabase } from './service.ts';

const Given = z.object({
  name: shortText(120),
  ownerEmail: Email,
  slug: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must be lower-case letters, digits and hyphens')
    .optional(),
});

/** The command can't be carried out as it was given; the message says why. */
export class RefusedCommand extends Error {
  override readonly name = 'RefusedCommand';
}

/** Makes an organization with its owner and prints its id and a management key with full access, this once. */
export async function issueOrganization(
  config: Config,
  life: Lifecycle,
  given: { name: string; ownerEmail: string; slug?: string },
): Promise<void> {
  const parsed = Given.safeParse(given);
  if (!parsed.success) throw new RefusedCommand(parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '));
  const opened = await life.open(() => openDatabase(config), closeDatabase);
  const { ctx } = await life.open(
    () => openCtx(config, opened, openLog('warn')),
    (open) => open.close(),
  );
  try {
    const { slug, ...rest } = parsed.data;
    const organization = await createOrganization(ctx, { ...rest, ...(slug !== undefined && { slug }) });
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
      const operator = { user: { id: null, email: null }, credential: { kind: 'operator', id: null } };
      await writeAudit(
        tx,
        { organizationId: organization.id, principal: operator, ip: null, requestId: null },
        {
          action: 'organization.create',
          target: { type: 'organization', id: organization.id },
          changes: { ...parsed.data, key: key.prefix },
        },
      );
    });
    console.log(
      `organization   ${organization.name}\nid             ${organization.id}\nslug           ${organization.slug}\nmanagement key ${key.secret}\n\nThe key is shown this once: keep it safe.`,
    );
  } catch (error) {
    if (error instanceof AppError) throw new RefusedCommand(error.details[0]?.message ?? error.message, { cause: error });
    throw error;
  } finally {
    await life.stop();
  }
}
