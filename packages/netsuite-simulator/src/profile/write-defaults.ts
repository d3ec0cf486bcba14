// What a record that is created through the record service gets by default in an account with a profile: the
// segments of its customer, the rate and the period of its day.
import type { ClientBase } from 'pg';
import type { RestRecordType } from '../records/record-type.ts';
import { ACCOUNT } from './trade-sql.ts';

type Values = ReadonlyMap<string, string | null>;

/** The employee that represents the integration in `createdby` and `lastmodifiedby`. */
export const INTEGRATION_USER = '9100001';
/** The department of sales. */
const DEPARTMENT = '1';
/** A payment that names no account. */
const UNDEPOSITED = { account: String(ACCOUNT.undepositedFunds), undepfunds: 'T' };
/** Approval status of a transaction that is approved. */
const APPROVED = '2';

/** Columns of these defaults that hold ids. */
export const DEFAULT_IDS = [
  'subsidiary',
  'department',
  'location',
  'terms',
  'employee',
  'billingaddress',
  'shippingaddress',
  'postingperiod',
  'approvalstatus',
  'createdby',
  'lastmodifiedby',
];

const NEW_TRANSACTION = `
SELECT c.subsidiary::text, u.currency::text, COALESCE(r.exchangerate, 1)::text AS exchangerate, c.salesrep::text AS employee,
  c.defaultbillingaddress::text AS billingaddress, c.defaultshippingaddress::text AS shippingaddress,
  COALESCE(c.terms, 1)::text AS terms, (d.day + COALESCE(e.daysuntilnetdue, 30)::int)::date::text AS duedate
FROM ledger.customer c JOIN ledger.subsidiary s ON s.id = c.subsidiary LEFT JOIN ledger.term e ON e.id = c.terms
CROSS JOIN LATERAL (SELECT $2::date AS day) d CROSS JOIN LATERAL (SELECT COALESCE($3::bigint, c.currency) AS currency) u
LEFT JOIN LATERAL (SELECT r.exchangerate FROM ledger.currencyrate r
  WHERE r.basecurrency = s.currency AND r.transactioncurrency = u.currency AND r.effectivedate <= d.day AND u.currency <> s.currency
  ORDER BY r.effectivedate DESC LIMIT 1) r ON TRUE
WHERE c.id = $1`;

/**
 * The values by column that the defaults without a profile lack or have differently. `values` are those of
 * the body, `defaults` those of an account without a profile.
 */
export async function profileDefaults(
  client: ClientBase,
  type: RestRecordType,
  values: Values,
  defaults: Values,
): Promise<Map<string, string | null>> {
  if (type.table === 'item') return new Map([['subsidiary', '1']]);
  if (type.table === 'customer') {
    const { rows } = await client.query<{ currency: string }>(
      'SELECT currency::text FROM ledger.subsidiary WHERE id = $1',
      [values.get('subsidiary') ?? '1'],
    );
    return new Map([
      ['subsidiary', values.get('subsidiary') ?? '1'],
      ...(rows[0] ? [['currency', rows[0].currency] as const] : []),
    ]);
  }
  const { rows } = await client.query<Record<string, string | null>>(NEW_TRANSACTION, [
    values.get('entity'),
    defaults.get('trandate'),
    values.get('currency') ?? null,
  ]);
  const { terms = null, duedate = null, ...found } = rows[0] ?? {};
  const { transactionType: kind = '' } = type;
  return new Map(
    Object.entries({
      ...found,
      ...(kind === 'CustInvc' && { terms, duedate }),
      ...(kind === 'CustPymt' && (values.get('account') ?? null) === null && UNDEPOSITED),
      ...(type.lines && { location: found['subsidiary'] ?? '1' }),
      department: DEPARTMENT,
      createdby: INTEGRATION_USER,
      lastmodifiedby: INTEGRATION_USER,
      approvalstatus: APPROVED,
      transactionnumber: `${kind.toUpperCase()}${defaults.get('id')}`,
    }),
  );
}
