// Rules of subscriptions: a view that its owner sees, a schedule that comes due, addresses named once, and nobody put back on a list
// that they left.
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid, notFound } from '../../core/errors.ts';
import { newId } from '../../core/id.ts';
import { violates } from '../../db/pg-errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { type PageQuery, type PageResult, toPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { nextSlot, scheduleProblem } from '../../sync/index.ts';
import { findTemplate } from '../portal/templates.store.ts';
import { makeRoom } from '../room.ts';
import { viewerOf } from '../views/views.service.ts';
import { recallMails } from './deliveries.service.ts';
import { type LastSlotRow, lastSlots } from './deliveries.store.ts';
import { findViewForOwner, findViewOfCaller, getRow, lockOwnRow } from './sight.ts';
import type { NewSubscription, SubscriptionChange, SubscriptionView } from './subscriptions.schemas.ts';
import * as store from './subscriptions.store.ts';

const disabledWords = {
  view_deleted: 'Its view was deleted: name another one, or delete the subscription',
  view_hidden: 'Its owner no longer sees the view: share it again, or name another one',
  owner_left: 'Its owner left the organization: whoever switches it on again becomes its owner',
} as const;

function view(
  ctx: RequestCtx,
  row: store.SeenSubscriptionRow,
  recipients: readonly store.RecipientRow[],
  last: LastSlotRow | undefined,
): SubscriptionView {
  const { owner_id: ownerId, view_id: viewId, disabled_reason: reason } = row;
  return {
    id: row.id,
    // Of a view that the caller no longer sees, not even the name is told.
    view: viewId === null || row.view_name === null ? null : { id: viewId, name: row.view_name },
    viewId,
    owner: ownerId === null ? null : { id: ownerId, email: row.owner_email ?? '', name: row.owner_name ?? '' },
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
    disabledReason: reason === null ? null : { code: reason, message: disabledWords[reason] },
    nextRunAt: row.enabled ? instantOrNull(nextSlot(row.schedule, row.timezone, ctx.clock.now())) : null,
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

async function viewsOf(tx: Tx, ctx: RequestCtx, rows: readonly store.SeenSubscriptionRow[]): Promise<SubscriptionView[]> {
  const ids = rows.map(({ id }) => id);
  const recipients = await store.listRecipients(tx, ctx.organizationId, ids);
  const last = await lastSlots(tx, ctx.organizationId, ids);
  return rows.map((row) => view(ctx, row, recipients, last.get(row.id)));
}

async function answerOf(tx: Tx, ctx: RequestCtx, id: string): Promise<SubscriptionView> {
  const [made] = await viewsOf(tx, ctx, [await getRow(tx, ctx, id)]);
  if (made === undefined) throw notFound('Subscription');
  return made;
}

export const listSubscriptions = (ctx: RequestCtx, page: PageQuery, viewId: string | undefined): Promise<PageResult<SubscriptionView>> =>
  inTransaction(ctx, async (tx) => {
    const { rows, total } = await store.listSubscriptions(tx, ctx.organizationId, viewerOf(ctx), page, viewId);
    return toPage(await viewsOf(tx, ctx, rows), total, page);
  });

export const getSubscription = (ctx: RequestCtx, id: string): Promise<SubscriptionView> =>
  inTransaction(ctx, (tx) => answerOf(tx, ctx, id));

function checkSchedule(schedule: string, timezone: string): void {
  const problem = scheduleProblem(schedule, timezone);
  if (problem !== null)
    throw invalid('The schedule is not valid', [{ path: problem.path, code: 'invalid_schedule', message: problem.message }]);
}

function checkRecipients(emails: readonly string[]): void {
  const details = emails.flatMap((email, index) =>
    emails.indexOf(email) === index
      ? []
      : [{ path: `recipients[${index}]`, code: 'duplicate', message: 'The address stands there already, whatever its case' }],
  );
  if (details.length > 0) throw invalid('An address stands there twice', details);
}

async function checkTemplate(tx: Tx, ctx: RequestCtx, format: string, templateId: string | null): Promise<void> {
  if (templateId === null) return;
  const wrong = (code: string, message: string) => invalid('The template does not fit', [{ path: 'templateId', code, message }]);
  if (format !== 'html') throw wrong('not_html', 'CSV is attached as it is: a template goes with html');
  if ((await findTemplate(tx, ctx.organizationId, templateId))?.kind !== 'email')
    throw wrong('unknown_template', 'No template of kind email has this id');
}

const unseenView = () => invalid('There is no such view', [{ path: 'viewId', code: 'unknown_view', message: 'Name a view that you see' }]);

export async function createSubscription(ctx: RequestCtx, input: NewSubscription): Promise<SubscriptionView> {
  checkSchedule(input.schedule, input.timezone);
  checkRecipients(input.recipients);
  const id = newId();
  const { user } = ctx.principal;
  return inTransaction(ctx, async (tx) => {
    if ((await findViewOfCaller(tx, ctx, input.viewId)) === undefined) throw unseenView();
    await checkTemplate(tx, ctx, input.format, input.templateId);
    await makeRoom(tx, ctx, 'subscriptions');
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
    await writeAudit(tx, ctx, { action: 'subscription.create', target: { type: 'subscription', id }, changes: input });
    return answerOf(tx, ctx, id);
  }).catch(explain);
}

function explain(error: unknown): never {
  // A key may outlive the membership of whoever made it; what it makes needs an owner who sees the view.
  if (violates(error, 'subscription_owner_is_a_member'))
    throw invalid('Its maker is no member', [{ path: '', code: 'not_a_member', message: 'Make it as a member of the organization' }]);
  if (violates(error, 'subscription_of_view')) throw unseenView();
  // The template was deleted in this moment.
  if (violates(error, 'subscription_uses_template')) throw notFound('Template');
  throw error;
}

/** What the row becomes: lifted from what switched it off where someone switches it on, and owned by someone who sees the view. */
async function changedColumns(tx: Tx, ctx: RequestCtx, row: store.SubscriptionRow, change: SubscriptionChange) {
  const enabled = change.enabled ?? row.enabled;
  const viewId = change.viewId ?? row.view_id;
  const ownerId = row.owner_id ?? (change.enabled === true ? ctx.principal.user.id : null);
  if (change.viewId !== undefined && (await findViewOfCaller(tx, ctx, change.viewId)) === undefined) throw unseenView();
  if (enabled && (change.enabled !== undefined || change.viewId !== undefined)) {
    const seen = viewId !== null && ownerId !== null && (await findViewForOwner(tx, ctx.organizationId, viewId, ownerId)) !== undefined;
    if (!seen)
      throw invalid('Its owner does not see the view', [
        { path: viewId === null ? 'viewId' : 'enabled', code: 'view_not_seen', message: 'Name a view that its owner sees' },
      ]);
  }
  const format = change.format ?? row.format;
  const templateId = change.templateId === undefined ? row.template_id : change.templateId;
  if (change.format !== undefined || change.templateId !== undefined) await checkTemplate(tx, ctx, format, templateId);
  return {
    view_id: viewId,
    owner_id: ownerId,
    schedule: change.schedule ?? row.schedule,
    timezone: change.timezone ?? row.timezone,
    format,
    template_id: templateId,
    enabled,
    // A person's word in either direction takes the place of the service's.
    disabled_reason: change.enabled === undefined ? row.disabled_reason : null,
  };
}

export async function changeSubscription(ctx: RequestCtx, id: string, change: SubscriptionChange): Promise<SubscriptionView> {
  if (change.recipients !== undefined) checkRecipients(change.recipients);
  return inTransaction(ctx, async (tx) => {
    const row = await lockOwnRow(tx, ctx, id);
    const columns = await changedColumns(tx, ctx, row, change);
    checkSchedule(columns.schedule, columns.timezone);
    await store.updateSubscription(tx, ctx.organizationId, id, columns);
    if (change.recipients !== undefined) await store.setRecipients(tx, ctx.organizationId, id, change.recipients);
    await writeAudit(tx, ctx, { action: 'subscription.update', target: { type: 'subscription', id }, changes: change });
    return answerOf(tx, ctx, id);
  }).catch(explain);
}

export const deleteSubscription = (ctx: RequestCtx, id: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const { view_id: viewId } = await lockOwnRow(tx, ctx, id);
    await recallMails(tx, ctx.organizationId, id);
    await store.deleteSubscriptionRow(tx, ctx.organizationId, id);
    await writeAudit(tx, ctx, { action: 'subscription.delete', target: { type: 'subscription', id }, changes: { viewId } });
  });
