// Rows of subscriptions and of their recipients; their only writer.
import { createId } from '../../core/id.ts';
import { newestFirst, readPage } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { PageQuery } from '../../http/page.ts';
import { isVisible, type Viewer, viewerBindings } from '../views/views.store.ts';
import type { disabledReasons, formats } from './subscriptions.schemas.ts';

type Columns = {
  view_id: string | null;
  owner_id: string | null;
  schedule: string;
  timezone: string;
  format: (typeof formats)[number];
  template_id: string | null;
  enabled: boolean;
  disabled_reason: (typeof disabledReasons)[number] | null;
};
export type SubscriptionRow = Columns & {
  id: string;
  owner_email: string | null;
  owner_name: string | null;
  created_at: Date;
  updated_at: Date;
};
/** `view_name` is null where the caller does not see the view. */
export type VisibleSubscriptionRow = SubscriptionRow & { view_name: string | null };

const select = (tx: Tx, organizationId: string) =>
  tx('subscriptions as s')
    .leftJoin('views as v', (join) =>
      join.on('v.organization_id', 's.organization_id').andOn('v.id', 's.view_id'),
    )
    .leftJoin('users as u', 'u.id', 's.owner_id')
    .where('s.organization_id', organizationId)
    .select(
      's.id',
      's.view_id',
      's.owner_id',
      's.schedule',
      's.timezone',
      's.format',
      's.template_id',
      's.enabled',
      's.disabled_reason',
      's.created_at',
      's.updated_at',
      'u.email as owner_email',
      'u.name as owner_name',
    );

/** Subscriptions that the viewer can see, with the names of the views that they see now. */
const selectVisible = (tx: Tx, organizationId: string, viewer: Viewer) =>
  select(tx, organizationId)
    .select(tx.raw(`case when ${isVisible} then v.name end as view_name`, viewerBindings(viewer)))
    .where((any) => {
      any.where('s.owner_id', viewer.userId).orWhereRaw(isVisible, viewerBindings(viewer));
      // People who may change members also see subscriptions that lost their owner or their view.
      if (viewer.managesOrphans) any.orWhereNull('s.owner_id').orWhereNull('s.view_id');
    });

export function listSubscriptions(
  tx: Tx,
  organizationId: string,
  viewer: Viewer,
  page: PageQuery,
  viewId: string | undefined,
) {
  const query = selectVisible(tx, organizationId, viewer).orderBy(newestFirst('s.created_at', 's.id'));
  if (viewId !== undefined) query.where('s.view_id', viewId);
  return readPage<VisibleSubscriptionRow>(query, page);
}

export const findVisibleSubscription = async (tx: Tx, organizationId: string, viewer: Viewer, id: string) =>
  (await selectVisible(tx, organizationId, viewer).where('s.id', id).first()) as
    | VisibleSubscriptionRow
    | undefined;

/** Regardless of who can see it. */
export const findSubscription = async (tx: Tx, organizationId: string, id: string) =>
  (await select(tx, organizationId).where('s.id', id).first()) as SubscriptionRow | undefined;

/** Locks the row until the transaction ends. */
export const lockSubscription = (tx: Tx, organizationId: string, id: string) =>
  tx('subscriptions').where({ organization_id: organizationId, id }).forUpdate().first('id');

export const insertSubscription = (
  tx: Tx,
  organizationId: string,
  row: Omit<Columns, 'disabled_reason'> & { id: string },
) => tx('subscriptions').insert({ ...row, organization_id: organizationId });

export const updateSubscription = (tx: Tx, organizationId: string, id: string, change: Partial<Columns>) =>
  tx('subscriptions')
    .where({ organization_id: organizationId, id })
    .update({ ...change, updated_at: tx.raw('clock_timestamp()') });

export const deleteSubscriptionRow = (tx: Tx, organizationId: string, id: string) =>
  tx('subscriptions').where({ organization_id: organizationId, id }).delete();

export type RecipientRow = {
  id: string;
  subscription_id: string;
  email: string;
  unsubscribed_at: Date | null;
};

/** Current recipients of these subscriptions, in the order in which they were added. */
export const listRecipients = async (tx: Tx, organizationId: string, subscriptionIds: readonly string[]) =>
  tx('subscription_recipients')
    .where('organization_id', organizationId)
    .whereIn('subscription_id', [...subscriptionIds])
    .whereNull('removed_at')
    .orderBy('id')
    .select<RecipientRow[]>('id', 'subscription_id', 'email', 'unsubscribed_at');

/** Replaces the recipients. One who is added again keeps their state: who unsubscribed stays unsubscribed. */
export async function setRecipients(
  tx: Tx,
  organizationId: string,
  subscriptionId: string,
  emails: readonly string[],
): Promise<void> {
  const own = { organization_id: organizationId, subscription_id: subscriptionId };
  await tx('subscription_recipients')
    .where(own)
    .whereNotIn('email', [...emails])
    .whereNull('removed_at')
    .update({ removed_at: tx.raw('clock_timestamp()') });
  await tx('subscription_recipients')
    .insert(emails.map((email) => ({ ...own, id: createId(), email })))
    .onConflict(['subscription_id', 'email'])
    .merge({ removed_at: null });
}

export type LinkedRow = {
  recipient_id: string;
  email: string;
  unsubscribed_at: Date | null;
  removed_at: Date | null;
  subscription_id: string;
  title: string;
  organization_name: string;
};

/** The recipient and subscription of a link; the recipient's row is locked. */
export const findLinkedRecipient = async (tx: Tx, organizationId: string, tokenHash: Buffer) =>
  tx('subscription_links as l')
    .join('subscription_recipients as r', 'r.id', 'l.recipient_id')
    .join('organizations as o', 'o.id', 'l.organization_id')
    .where({ 'l.organization_id': organizationId, 'l.token_hash': tokenHash })
    .forUpdate('r')
    .first<LinkedRow | undefined>(
      'r.id as recipient_id',
      'r.email',
      'r.unsubscribed_at',
      'r.removed_at',
      'r.subscription_id',
      'l.title',
      'o.name as organization_name',
    );

export const findOrganizationOfLink = async (
  db: { raw<T>(sql: string, bindings: readonly unknown[]): PromiseLike<T> },
  tokenHash: Buffer,
): Promise<string | undefined> =>
  (
    await db.raw<{ rows: { organization_id: string }[] }>(
      'select organization_id from find_subscription_link(?)',
      [tokenHash],
    )
  ).rows[0]?.organization_id;

export const insertLink = (
  tx: Tx,
  organizationId: string,
  row: { token_hash: Buffer; recipient_id: string; title: string },
) => tx('subscription_links').insert({ ...row, organization_id: organizationId });

export const markUnsubscribed = (
  tx: Tx,
  organizationId: string,
  recipientId: string,
  isUnsubscribed: boolean,
) =>
  tx('subscription_recipients')
    .where({ organization_id: organizationId, id: recipientId })
    .update({ unsubscribed_at: isUnsubscribed ? tx.raw('clock_timestamp()') : null });

/** Slots due up to this instant will not be created any more. */
export const setScheduledSince = (tx: Tx, organizationId: string, instant: Date) =>
  tx('subscriptions')
    .where({ organization_id: organizationId })
    .update({
      scheduled_since: tx.raw('greatest(scheduled_since, ?::timestamptz)', [instant.toISOString()]),
    });
