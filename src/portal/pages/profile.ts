// Who the visitor is: the customer's record as the company shows it, and where the visitor is signed in.
import type { Request } from 'express';
import { parseExact } from '../../core/text/exact-json.ts';
import { inTransaction } from '../../db/transaction.ts';
import { describeBrowser } from '../../mail/index.ts';
import { customersEndpoint } from '../../platform/index.ts';
import { listSessions } from '../sessions.store.ts';
import { isAddress, listShownFields, type RecordRow, readingOf, toValue } from '../shown-fields.ts';
import type { ProfilePage } from '../view-model.ts';
import type { Visit } from '../visit.ts';

type OwnRecord = Pick<ProfilePage, 'fields' | 'asOf'>;

/** The customer's. Nothing where customers aren't synced. Rejects as lists of the public interface do. */
export async function readOwnRecord(visit: Visit): Promise<OwnRecord> {
  const { portal, customer, reader } = visit;
  const { customerType } = portal.settings;
  const shown = customerType === undefined ? [] : listShownFields(visit, customerType);
  if (customerType === undefined || shown.length === 0) return { fields: [], asOf: null };
  const { records, fields, syncedAt } = await reader.list(customersEndpoint, { id: customer });
  const [row] = parseExact(records) as RecordRow[];
  if (row === undefined) return { fields: [], asOf: syncedAt };
  const reading = readingOf(visit, customerType, fields);
  return {
    fields: shown.map((field) => ({
      ...{ label: field.label, value: toValue(field, row, reading) },
      isAddress: isAddress(field),
    })),
    asOf: syncedAt,
  };
}

export async function readProfile(
  visit: Visit,
  { query }: Request,
  mails: ProfilePage['mails'],
): Promise<ProfilePage> {
  const { ctx, session } = visit;
  const [own, sessions] = await Promise.all([
    readOwnRecord(visit),
    inTransaction(ctx, (tx) => listSessions(tx, ctx.organizationId, session.email)),
  ]);
  return {
    kind: 'profile',
    ...own,
    ...{ mails, isSaved: query['mails'] === 'saved' },
    sessions: sessions.map(({ id, user_agent: agent, ...row }) => ({
      id,
      isCurrent: id === session.id,
      browser: describeBrowser(agent),
      startedAt: row.created_at.toISOString(),
      lastSeenAt: row.last_seen_at.toISOString(),
    })),
  };
}
