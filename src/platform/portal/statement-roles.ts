// Which records make up the account of a customer, and what is missing for statements of it.
import type { ReadingCtx, TenantCtx } from '../../core/ctx.ts';
import { type ReceivableRole, receivableRoles } from '../../core/text/portal-terms.ts';
import { findLivingMasks } from '../../public/index.ts';
import type { StoredSettings } from './access.schemas.ts';

type Entry = StoredSettings['records'][number];
export type ReceivableEntry = Entry & { readonly role: ReceivableRole };
export type StatementGap = {
  readonly role: ReceivableRole;
  readonly recordType: string | null;
  readonly code: 'not_shown' | 'no_date' | 'no_amount' | 'no_currency' | 'masked';
};

const isReceivable = (entry: Entry): entry is ReceivableEntry => entry.role !== 'other';

/** The record types whose records change what a customer owes. */
export const listReceivables = ({ records }: Pick<StoredSettings, 'records'>): ReceivableEntry[] =>
  records.filter(isReceivable);

/**
 * Why there are no statements: one that leaves out a role, or adds up what visitors don't see, would be wrong. Empty when
 * there are.
 */
export async function readStatementGaps(
  ctx: ReadingCtx & TenantCtx,
  { records, unusedRoles = [], timed = [] }: StoredSettings,
): Promise<StatementGap[]> {
  const entries = listReceivables({ records });
  const hasCurrency = entries.some(({ fields }) => fields.currency !== undefined);
  const masks = await findLivingMasks(ctx);
  const missing = receivableRoles.filter(
    (role) => !unusedRoles.includes(role) && !entries.some((entry) => entry.role === role),
  );
  return [
    ...missing.map((role) => ({ role, recordType: null, code: 'not_shown' as const })),
    ...entries.flatMap(({ role, recordType, fields: { date, amount, currency } }): StatementGap[] => {
      const gap = (code: StatementGap['code']): StatementGap[] => [{ role, recordType, code }];
      if (date === undefined || timed.includes(recordType)) return gap('no_date');
      if (amount === undefined) return gap('no_amount');
      if (hasCurrency && currency === undefined) return gap('no_currency');
      const masked = masks.get(recordType);
      return [date, amount, currency ?? ''].some((source) => masked?.has(source)) ? gap('masked') : [];
    }),
  ];
}
