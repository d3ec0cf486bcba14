// Rows of portal_mail_orders and portal_mailed, and the job of each order.
import { createId } from '../../core/id.ts';
import type { MailKind } from '../../core/text/portal-terms.ts';
import { cancelJob, enqueueJob, type JobKey } from '../../db/jobs.ts';
import type { Tx } from '../../db/transaction.ts';

export type MailOrder = {
  readonly id: string;
  readonly email: string;
  readonly customer: string;
  readonly kinds: readonly MailKind[];
  readonly due_days: number;
  readonly with_pdf: boolean;
  readonly language: string;
};
const columns = ['id', 'email', 'customer', 'kinds', 'due_days', 'with_pdf', 'language'] as const;

const jobOf = (organizationId: string, key: string): JobKey => ({
  ...{ kind: 'portal_mails', organizationId, key },
});

export const findMailOrder = async (
  tx: Tx,
  organizationId: string,
  by: Pick<MailOrder, 'email' | 'customer'> | Pick<MailOrder, 'id'>,
) =>
  tx('portal_mail_orders')
    .where({ organization_id: organizationId, ...by })
    .forUpdate()
    .first<MailOrder | undefined>(...columns);

/** Returns the id. Its job looks at once. */
export async function saveMailOrder(
  tx: Tx,
  organizationId: string,
  order: Omit<MailOrder, 'id'>,
): Promise<string> {
  const [row] = await tx('portal_mail_orders')
    .insert({ ...order, id: createId(), organization_id: organizationId })
    .onConflict(['organization_id', 'email', 'customer'])
    .merge(['kinds', 'due_days', 'with_pdf', 'language'])
    .returning<{ id: string }[]>('id');
  const id = row?.id ?? '';
  await enqueueJob(tx, jobOf(organizationId, id));
  return id;
}

/** Without a kind nothing is sent any more. */
export async function setMailKinds(
  tx: Tx,
  organizationId: string,
  id: string,
  kinds: readonly MailKind[],
): Promise<void> {
  await tx('portal_mail_orders').where({ organization_id: organizationId, id }).update({ kinds });
  if (kinds.length === 0) await cancelJob(tx, jobOf(organizationId, id));
}

type Kept = { readonly orderId: string; readonly kind: MailKind; readonly isMailed: boolean };

/** Notes that no further mail is sent about these records. What was noted before stays as it is. */
export async function noteMailed(
  tx: Tx,
  organizationId: string,
  { orderId, kind, isMailed }: Kept,
  records: readonly string[],
): Promise<void> {
  const row = { organization_id: organizationId, order_id: orderId, kind, is_mailed: isMailed };
  if (records.length > 0)
    await tx('portal_mailed')
      .insert(records.map((record) => ({ ...row, record })))
      .onConflict(['order_id', 'kind', 'record'])
      .ignore();
}

/** Longer than anything is looked at. */
const keptDays = 93;

/** By kind, the records of an order that were noted. Forgets what was noted long ago. */
export async function readMailed(tx: Tx, organizationId: string, orderId: string) {
  const noted = () => tx('portal_mailed').where({ organization_id: organizationId, order_id: orderId });
  await noted()
    .where('noted_at', '<', tx.raw("now() - ? * interval '1 day'", [keptDays]))
    .delete();
  const rows = await noted().select<{ kind: MailKind; record: string }[]>('kind', 'record');
  return Map.groupBy(rows, ({ kind }) => kind);
}
