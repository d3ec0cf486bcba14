// The demo's portal: enabled as it is proposed, with labels for the fields that customers see.
import { z } from 'zod';
import type { Ctx } from '../src/core/ctx.ts';
import { inTransaction } from '../src/db/transaction.ts';
import { hasJournalLines, journalEntry, journalLines } from './journal-lines.ts';
import { ManagementApiError, type ManagementCall } from './management-client.ts';
import { pollUntil } from './poll-until.ts';
import { portalRecordTypes } from './schema.ts';

const Entry = z.looseObject({ recordType: z.string() });
const Access = z.looseObject({
  revision: z.int(),
  status: z.enum(['off', 'preparing', 'failed', 'on']),
  people: z.array(z.unknown()),
  records: z.array(Entry),
  proposed: z.object({ people: z.array(z.unknown()), records: z.array(Entry) }),
});
const Mappings = z.object({ data: z.array(z.object({ recordType: z.string() })) });
const Pages = z.object({ data: z.array(z.object({ id: z.string(), slug: z.string() })) });

/** Labels of the fields that customers see, by record type. */
const labels: Readonly<Record<string, readonly (readonly [source: string, label: string])[]>> = {
  invoice: [
    ['tranid', 'Invoice'],
    ['trandate', 'Date'],
    ['duedate', 'Due'],
    ['status.name', 'Status'],
    ['foreigntotal', 'Total'],
    ['foreignamountunpaid', 'Open'],
    ['lines', 'Lines'],
  ],
  creditMemo: [
    ['tranid', 'Credit note'],
    ['trandate', 'Date'],
    ['status.name', 'Status'],
    ['foreigntotal', 'Total'],
    ['foreignamountunpaid', 'Not used yet'],
    ['lines', 'Lines'],
  ],
  customerPayment: [
    ['tranid', 'Payment'],
    ['trandate', 'Date'],
    ['status.name', 'Status'],
    ['foreigntotal', 'Amount'],
  ],
  customerRefund: [
    ['tranid', 'Refund'],
    ['trandate', 'Date'],
    ['foreigntotal', 'Amount'],
  ],
  [journalLines.name]: [
    ['tranid', 'Adjustment'],
    ['trandate', 'Date'],
    ['memo', 'Reason'],
    ['amount', 'Amount'],
  ],
  customer: [
    ['entityid', 'Customer number'],
    ['companyname', 'Company'],
    ['email', 'E-mail'],
    ['currency.name', 'Currency'],
  ],
};

const isOfBooks = (name: string): boolean => portalRecordTypes.some(({ recordType }) => recordType === name);

async function createMapping(call: ManagementCall, recordType: string): Promise<void> {
  const fields = (labels[recordType] ?? []).map(([source, label]) => ({ source, label }));
  await call('POST', '/portal/field-mappings', z.unknown(), { recordType, fields });
}

const help = [
  { type: 'heading', level: 2, text: 'How to reach us' },
  {
    type: 'text',
    markdown:
      'Questions about an invoice? Write to [accounts@demo.example](mailto:accounts@demo.example) and name its number.\n\n' +
      '- **Delivery**: two to four working days\n- **Returns**: within 30 days, with the invoice',
  },
  { type: 'heading', level: 2, text: 'Your latest credit notes' },
  { type: 'record-list', recordType: 'creditMemo', title: null, pageSize: 5 },
];

async function publishHelp(call: ManagementCall): Promise<void> {
  const { data } = await call('GET', '/portal/pages?pageSize=100', Pages);
  if (data.some(({ slug }) => slug === 'help')) return;
  const page = { slug: 'help', title: 'Help', blocks: help };
  const Created = z.object({ id: z.string(), revision: z.int() });
  const { id, revision } = await call('POST', '/portal/pages', Created, page);
  await call('POST', `/portal/pages/${id}/publish`, z.unknown(), { revision });
}

type Preparing = { readonly status: string; readonly publication: { readonly status: string } | null };

type Given = {
  readonly call: ManagementCall;
  readonly hasBooks: boolean;
  /** The agent that answers visitors, where its version fits. */
  readonly agentId: string | null;
};

/** As an earlier version of the demo enabled it: no one changed it since, and it shows no payments. */
const isEarlier = ({ revision, records }: z.output<typeof Access>): boolean =>
  revision === 1 && !records.some(({ recordType }) => recordType === 'customerPayment');

/** People publish their own versions: where the agent's doesn't fit, the portal has none. */
async function putAccess({ call, hasBooks, agentId }: Given, access: z.output<typeof Access>): Promise<void> {
  const { people, records } = access.proposed;
  const journals = hasBooks && (await hasJournalLines(call)) ? [journalEntry] : [];
  const { revision } = access;
  const settings = { enabled: true, people, records: [...records, ...journals], revision };
  await call('PUT', '/portal/access', z.unknown(), { ...settings, agentId }).catch((error: unknown) => {
    if (!(error instanceof ManagementApiError) || !error.detailCodes.includes('not_scopable')) throw error;
    return call('PUT', '/portal/access', z.unknown(), settings);
  });
}

/** Leaves a portal alone that someone changed. Rejects when it can't be enabled. */
export async function enablePortal(
  { clock, db }: Pick<Ctx, 'clock' | 'db'>,
  organizationId: string,
  given: Given,
): Promise<void> {
  const { call, hasBooks } = given;
  const access = await call('GET', '/portal/access', Access);
  const isNew = access.revision === 0 || (hasBooks && isEarlier(access));
  if (!isNew && access.status !== 'preparing') return;
  const { data: mapped } = await call('GET', '/portal/field-mappings?pageSize=100', Mappings);
  for (const recordType of Object.keys(labels).filter((name) => hasBooks || !isOfBooks(name)))
    if (!mapped.some((one) => one.recordType === recordType)) await createMapping(call, recordType);
  await publishHelp(call);
  if (isNew) await putAccess(given, access);
  await pollUntil(clock, async () => {
    const row = await inTransaction({ db, organizationId }, (tx) =>
      tx('api_schemas')
        .whereLike('version', 'p%')
        .orderBy('id', 'desc')
        .first<Preparing | undefined>('status', 'publication'),
    );
    if (row?.publication?.status === 'failed') throw new Error('The portal could not be enabled.');
    return { result: row?.status === 'published' ? true : undefined, seen: row?.publication };
  });
}
