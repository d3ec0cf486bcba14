// Which sign the ERP gives to the amounts of a record type: credits are negative in some ERPs.
import type { PortalSettings } from './access.schemas.ts';
import { recordsEndpoint } from './access-document.ts';
import { type Portal, type PortalCtx, readPage, toRowConditions } from './visitor-scope.ts';

const sampled = 200;

/** Of a number as `parseExact` reads it. */
const signOf = (amount: unknown): number =>
  Math.sign(Number(typeof amount === 'string' ? amount : JSON.stringify(amount))) || 0;

/** Whether most of the latest amounts that aren't 0 are negative. `amount`: the field in the portal's document. */
export async function writesNegative(
  ctx: PortalCtx,
  portal: Portal,
  { recordType, conditions }: PortalSettings['records'][number],
  amount: string,
): Promise<boolean> {
  const selection = {
    name: recordsEndpoint(recordType),
    recordType,
    conditions: toRowConditions(conditions),
  };
  const query = { fields: amount, pageSize: String(sampled) };
  const { rows } = await readPage(ctx, portal, selection, query, []);
  return rows.reduce((sum, row) => sum + signOf(row[amount]), 0) < 0;
}
