// The demo's portal: enabled as it is proposed, with labels for the fields that customers see.
import { z } from 'zod';
import type { Ctx } from '../src/core/ctx.ts';
import { inTransaction } from '../src/db/transaction.ts';
import type { ManagementCall } from './management-client.ts';
import { pollUntil } from './poll-until.ts';

const Access = z.looseObject({
  revision: z.int(),
  status: z.enum(['off', 'preparing', 'failed', 'on']),
  people: z.array(z.unknown()),
  records: z.array(z.looseObject({ recordType: z.string() })),
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
  customer: [
    ['entityid', 'Customer number'],
    ['companyname', 'Company'],
    ['email', 'E-mail'],
    ['currency.name', 'Currency'],
  ],
};

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

/** Leaves a portal alone that someone changed. Rejects when it can't be enabled. */
export async function enablePortal(
  { clock, db }: Pick<Ctx, 'clock' | 'db'>,
  organizationId: string,
  call: ManagementCall,
): Promise<void> {
  const access = await call('GET', '/portal/access', Access);
  if (access.revision > 0 && access.status !== 'preparing') return;
  const { data: mapped } = await call('GET', '/portal/field-mappings?pageSize=100', Mappings);
  for (const recordType of Object.keys(labels))
    if (!mapped.some((one) => one.recordType === recordType)) await createMapping(call, recordType);
  await publishHelp(call);
  if (access.revision === 0) {
    const { people, records } = access;
    await call('PUT', '/portal/access', z.unknown(), { enabled: true, people, records, revision: 0 });
  }
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
