// Rules of subscriptions: the owner must see the view, the schedule must come due, each recipient is listed
// once, and a recipient who unsubscribed can't be subscribed again by others.
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid, notFound } from '../../core/errors.ts';
import { createId } from '../../core/id.ts';
import { violatesConstraint } from '../../db/pg-errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import { assertReadsRecords, missingPermission } from '../../http/route/authorize.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { findNextSlot, findScheduleProblem } from '../../sync/index.ts';
import { findTemplate } from '../portal/templates.store.ts';
import { assertQuota } from '../quotas.ts';
import { findViewForCaller, toViewer } from '../views/views.service.ts';
import { findViewForOwner, getSubscriptionRow, lockEditableSubscription } from './access.ts';
import { cancelQueuedMails } from './deliveries.service.ts';
import { findLastSlots, type LastSlotRow } from './deliveries.store.ts';
import type { NewSubscription, Subscription, SubscriptionPatch } from './subscriptions.schemas.ts';
import * as store from './subscriptions.store.ts';

const disabledMessages = {
  view_deleted: 'Its view was deleted: set another view, or delete the subscription',
  view_hidden:
    'Its owner no longer sees the view, or may no longer read records: share the view again, set another one, or ask for `record:read`',
  owner_left: 'Its owner left the organization: the person who enables it becomes its owner',
} as const;

function toSubscription(
  ctx: RequestCtx,
  row: store.VisibleSubscriptionRow,
  recipients: readonly store.RecipientRow[],
  last: LastSlotRow | undefined,
): Subscription {
  const { owner_id: ownerId, view_id: viewId, disabled_reason: reason } = row;
  return {
    id: row.id,
    // Not even the name of a view is shown when the caller no longer sees the view.
    view: viewId === null || row.view_name === null ? null : { id: viewId, name: row.view_name },
    viewId,
    owner:
      ownerId === null ? null : { id: ownerId, email: row.owner_email ?? '', name: row.owner_name ?? '' },
    schedule: row.schedule,
    timezone: row.timezone,
    recipients: recipients
      .filter((recipient) => recipient.subscription_id === row.id)
      .map(({ email, unsubscribed_at: at }) => ({
        email,
        status: at === null ? ('active' as const) : ('unsubscribed' as const),
        unsubscribedAt: instantOrNull(at),
      })),
    format: row.format,
    templateId: row.template_id,
    enabled: row.enabled,
    disabledReason: reason === null ? null : { code: reason, message: disabledMessages[reason] },
    nextRunAt: row.enabled ? instantOrNull(findNextSlot(row.schedule, row.timezone, ctx.clock.now())) : null,
    lastSlot: last === undefined ? null : lastSlotView(last),
    createdAt: instant(row.created_at),
    updatedAt: instant(row.updated_at),
  };
}
const lastSlotView = ({ slot, trigger, error, queued, sent, failed, unknown, skipped }: LastSlotRow) => ({
  slot: instant(slot),
  trigger,
  deliveries: { queued, sent, failed, unknown, skipped },
  error,
});

async function toSubscriptions(
  tx: Tx,
  ctx: RequestCtx,
  rows: readonly store.VisibleSubscriptionRow[],
): Promise<Subscription[]> {
  const ids = rows.map(({ id }) => id);
  const recipients = await store.listRecipients(tx, ctx.organizationId, ids);
  const last = await findLastSlots(tx, ctx.organizationId, ids);
  return rows.map((row) => toSubscription(ctx, row, recipients, last.get(row.id)));
}

async function readSubscription(tx: Tx, ctx: RequestCtx, id: string): Promise<Subscription> {
  const [subscription] = await toSubscriptions(tx, ctx, [await getSubscriptionRow(tx, ctx, id)]);
  if (subscription === undefined) throw notFound('Subscription');
  return subscription;
}

export const listSubscriptions = (ctx: RequestCtx, page: PageQuery, viewId: string | undefined) =>
  inTransaction(ctx, async (tx) => {
    const { rows, total } = await store.listSubscriptions(
      tx,
      ctx.organizationId,
      toViewer(ctx),
      page,
      viewId,
    );
    return toPage(await toSubscriptions(tx, ctx, rows), total, page);
  });

/** Throws 404 when the caller can't see the subscription. */
export const getSubscription = (ctx: RequestCtx, id: string): Promise<Subscription> =>
  inTransaction(ctx, (tx) => readSubscription(tx, ctx, id));

function assertSchedule(schedule: string, timezone: string): void {
  const problem = findScheduleProblem(schedule, timezone);
  if (problem !== null)
    throw invalid('The schedule is not valid', [
      { path: problem.path, code: 'invalid_schedule', message: problem.message },
    ]);
}

function assertUniqueRecipients(emails: readonly string[]): void {
  const details = emails.flatMap((email, index) =>
    emails.indexOf(email) === index
      ? []
      : [
          {
            path: `recipients[${index}]`,
            code: 'duplicate',
            message: `${email} appears twice; upper and lower case count as the same`,
          },
        ],
  );
  if (details.length > 0) throw invalid('Duplicate recipient', details);
}

async function assertTemplate(tx: Tx, ctx: RequestCtx, format: string, templateId: string | null) {
  if (templateId === null) return;
  const misfit = (code: string, message: string) =>
    invalid('The template does not fit', [{ path: 'templateId', code, message }]);
  if (format !== 'html')
    throw misfit('not_html', 'CSV files use no template: set format to html, or templateId to null');
  if ((await findTemplate(tx, ctx.organizationId, templateId))?.kind !== 'email')
    throw misfit('unknown_template', 'No template of kind email has this id');
}

const unknownView = () =>
  invalid('Unknown view', [
    { path: 'viewId', code: 'unknown_view', message: 'Use the id of a view that you can see' },
  ]);

/**
 * Throws 422 for an invalid schedule, a duplicate recipient, a view that the caller can't see, a template
 * that doesn't fit, a full quota, or a caller who is not a member.
 */
export async function createSubscription(ctx: RequestCtx, input: NewSubscription): Promise<Subscription> {
  assertSchedule(input.schedule, input.timezone);
  assertUniqueRecipients(input.recipients);
  const id = createId();
  const { user } = ctx.principal;
  return inTransaction(ctx, async (tx) => {
    if ((await findViewForCaller(tx, ctx, input.viewId)) === undefined) throw unknownView();
    await assertTemplate(tx, ctx, input.format, input.templateId);
    await assertQuota(tx, ctx, 'subscriptions');
    await store.insertSubscription(tx, ctx.organizationId, {
      id,
      view_id: input.viewId,
      owner_id: user.id,
      schedule: input.schedule,
      timezone: input.timezone,
      format: input.format,
      template_id: input.templateId,
      enabled: input.enabled,
    });
    await store.setRecipients(tx, ctx.organizationId, id, input.recipients);
    await writeAudit(tx, ctx, 'subscription.create', ['subscription', id], input);
    return readSubscription(tx, ctx, id);
  }).catch(rethrow);
}

/** Rethrows constraint violations as 422 or 404, other errors unchanged. */
function rethrow(error: unknown): never {
  // A key may outlive its creator's membership, but a subscription needs an owner who sees the view.
  if (violatesConstraint(error, 'subscription_owner_is_a_member')) {
    const message = 'Only members can own a subscription: create it as a member';
    throw invalid('Not a member of the organization', [{ path: '', code: 'not_a_member', message }]);
  }
  if (violatesConstraint(error, 'subscription_of_view')) throw unknownView();
  // The template was deleted concurrently.
  if (violatesConstraint(error, 'subscription_uses_template')) throw notFound('Template');
  throw error;
}

/** Enabling clears the disabled reason, and makes the caller the owner if there is none. Throws 422. */
async function toUpdatedColumns(
  tx: Tx,
  ctx: RequestCtx,
  row: store.SubscriptionRow,
  change: SubscriptionPatch,
) {
  const enabled = change.enabled ?? row.enabled;
  const viewId = change.viewId ?? row.view_id;
  const ownerId = row.owner_id ?? (change.enabled === true ? ctx.principal.user.id : null);
  if (change.viewId !== undefined && (await findViewForCaller(tx, ctx, change.viewId)) === undefined)
    throw unknownView();
  if (enabled && (change.enabled !== undefined || change.viewId !== undefined)) {
    const seen =
      viewId !== null &&
      ownerId !== null &&
      (await findViewForOwner(tx, ctx.organizationId, viewId, ownerId)) !== undefined;
    if (!seen) {
      const message = 'Use a view that the owner can see';
      throw invalid("The subscription's owner does not see the view", [
        { path: viewId === null ? 'viewId' : 'enabled', code: 'view_not_seen', message },
      ]);
    }
  }
  const format = change.format ?? row.format;
  const templateId = change.templateId === undefined ? row.template_id : change.templateId;
  if (change.format !== undefined || change.templateId !== undefined)
    await assertTemplate(tx, ctx, format, templateId);
  return {
    view_id: viewId,
    owner_id: ownerId,
    schedule: change.schedule ?? row.schedule,
    timezone: change.timezone ?? row.timezone,
    format,
    template_id: templateId,
    enabled,
    // When a person enables or disables it, that replaces the service's reason.
    disabled_reason: change.enabled === undefined ? row.disabled_reason : null,
  };
}

/**
 * Throws 404 when the caller can't see the subscription, 403 when they may not change it or, for the
 * subscription of someone else, lack `view:read` or `record:read`, and 422 like `createSubscription`.
 */
export async function updateSubscription(
  ctx: RequestCtx,
  id: string,
  change: SubscriptionPatch,
): Promise<Subscription> {
  if (change.recipients !== undefined) assertUniqueRecipients(change.recipients);
  return inTransaction(ctx, async (tx) => {
    const row = await lockEditableSubscription(tx, ctx, id);
    // Its mails are read with the owner's permission: redirecting them would be reading without one's own.
    if (row.owner_id !== ctx.principal.user.id) {
      if (!ctx.principal.permissions.has('view:read')) throw missingPermission('view:read');
      assertReadsRecords(ctx);
    }
    const columns = await toUpdatedColumns(tx, ctx, row, change);
    assertSchedule(columns.schedule, columns.timezone);
    await store.updateSubscription(tx, ctx.organizationId, id, columns);
    if (change.recipients !== undefined)
      await store.setRecipients(tx, ctx.organizationId, id, change.recipients);
    await writeAudit(tx, ctx, 'subscription.update', ['subscription', id], change);
    return readSubscription(tx, ctx, id);
  }).catch(rethrow);
}

/** Cancels queued mails too. Throws 404 when the caller can't see it, and 403 when they may not change it. */
export const deleteSubscription = (ctx: RequestCtx, id: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const { view_id: viewId } = await lockEditableSubscription(tx, ctx, id);
    await cancelQueuedMails(tx, ctx.organizationId, id);
    await store.deleteSubscriptionRow(tx, ctx.organizationId, id);
    await writeAudit(tx, ctx, 'subscription.delete', ['subscription', id], { viewId });
  });
