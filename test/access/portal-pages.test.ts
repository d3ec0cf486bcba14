// Visitors request pages and files of a portal at random, and a model that wrote the records judges every response:
// no byte of another customer's record is in it, and nothing of the visitor's own is missing. Each record has a word
// in every field that is found again in any text and belongs to one customer. The model reads no setting, and a
// model that is wrong in one record must disagree.
import { beforeAll, expect, it } from 'vitest';
import { readPdf, textsOf } from '../pdf/read-pdf.ts';
import { customerTypes, loadCompany, type Row, settings } from '../portal/company.ts';
import { asOwner, switchOn } from '../portal/served-portal.ts';
import { openBrowser, type VisitorBrowser } from '../portal/visiting.ts';
import { useOrganization } from '../setup/use-organization.ts';
import { createRandom, propertySeed } from './random.ts';

const random = createRandom(propertySeed);
const between = (min: number, max: number): number => min + random.int(max - min + 1);
const org = useOrganization({ mail: true });

const visitorCount = 20;
const requestsEach = 50;
const customerCount = 30;

type Customer = { readonly id: number; readonly word: string; readonly parent: number | null };
const customers: Customer[] = Array.from({ length: customerCount }, (_, index) => ({
  id: index + 1,
  word: random.word(),
  parent: index > 10 && random.chance(0.3) ? between(1, 10) : null,
}));
const addressOf = (visitor: number): string => `visitor${visitor}@customer.example`;
/** Some people have several customers. */
const customersOf = new Map(
  Array.from({ length: visitorCount }, (_, visitor) => [
    visitor,
    random.some(customers, 1).slice(0, random.chance(0.7) ? 1 : 3),
  ]),
);
const contacts = [...customersOf].flatMap(([visitor, own], at) =>
  own.map(({ id }, index) => ({
    ...{ id: 5_000 + at * 100 + index, company: id, isinactive: false },
    email: addressOf(visitor),
  })),
);

type Invoice = Row & { readonly entity: number | null; readonly tranid: string; readonly unpaid: number };
const days = (): string => `2026-0${between(1, 9)}-${between(10, 28)}`;
const invoices: Invoice[] = Array.from({ length: 900 }, (_, index) => {
  const [number, text] = [random.word(), random.word()];
  return {
    ...{
      id: 10_000 + index,
      tranid: `INV-${number}`,
      trandate: days(),
      duedate: random.chance(0.2) ? null : days(),
    },
    ...{ total: between(1, 9_000), unpaid: random.chance(0.5) ? 0 : between(1, 900), status: `open ${text}` },
    entity: random.chance(0.05) ? null : between(1, customerCount),
    lines: null,
  };
});
const wordsIn = (text: string): Set<string> => new Set(text.match(/zq[0-9a-f]{8}/g));
const wordsOf = ({ tranid, status }: Row): string[] => [...wordsIn(`${tranid} ${status}`)];

/** Who may see the words: the customer's record and invoices, and of children where these are included. */
type Model = { readonly ownerOf: ReadonlyMap<string, number>; readonly records: readonly Invoice[] };
const ownerOf = new Map([
  ...customers.map(({ word, id }): [string, number] => [word, id]),
  ...invoices.flatMap((one) => wordsOf(one).map((word): [string, number] => [word, one.entity ?? -1])),
]);
const model: Model = { ownerOf, records: invoices };

const unusedRoles = ['credit', 'payment', 'refund', 'journal'];
type Site = { readonly viewId: string };
let site: Site;
let includeChildren = false;

beforeAll(async () => {
  const rows = customers.map(({ id, word, parent }) => ({
    ...{ id, name: `Customer ${word}`, parent, isinactive: false },
    email: null,
  }));
  expect(Object.keys(customerTypes)).toEqual(expect.arrayContaining(['name', 'parent']));
  await loadCompany(org.ctx, org.id, { customers: rows, contacts, invoices });
  const owner = await asOwner(org);
  const fields = ['tranid', 'trandate', 'duedate', 'status', 'total', 'unpaid', 'entity'];
  const mapping = { recordType: 'invoice', fields: fields.map((source) => ({ source, label: source })) };
  await owner.api('post', '/portal/field-mappings', mapping);
  const named = { recordType: 'customer', fields: [{ source: 'name', label: 'Name' }] };
  await owner.api('post', '/portal/field-mappings', named);
  const view = {
    name: 'Open ones',
    recordType: 'invoice',
    columns: ['tranid', 'status'],
    visibility: 'organization',
  };
  const filters = [{ field: 'unpaid', operator: 'gt', value: 0 }];
  const viewId: string = (await owner.api('post', '/views', { ...view, filters })).body.id;
  const blocks = [
    { type: 'text', markdown: 'What is **open**' },
    { type: 'view', viewId, pageSize: 100 },
    { type: 'record-list', recordType: 'invoice', pageSize: 100 },
  ];
  const { id, revision } = (await owner.api('post', '/portal/pages', { slug: 'open', title: 'Open', blocks }))
    .body;
  await owner.api('post', `/portal/pages/${id}/publish`, { revision });
  site = { viewId };
  await switchOn(owner, { unusedRoles });
});

type Visitor = {
  readonly browser: VisitorBrowser;
  readonly own: readonly Customer[];
  /** The one whose records are shown. */
  chosen: Customer;
};
type Check = {
  readonly path: string;
  /** Of the records that the response must have; it may have no other of the record type's. */
  readonly wanted?: readonly Invoice[];
  readonly status?: number;
};

const familyOf = ({ id }: Customer): Set<number> =>
  new Set([
    id,
    ...(includeChildren ? customers.filter(({ parent }) => parent === id).map((one) => one.id) : []),
  ]);
const ofFamily = ({ records }: Model, { chosen }: Visitor): Invoice[] =>
  records.filter(({ entity }) => entity !== null && familyOf(chosen).has(entity));

type Filter = { readonly query: string; readonly fits: (one: Invoice) => boolean };
const filters: readonly ((own: readonly Invoice[]) => Filter)[] = [
  () => ({ query: '', fits: () => true }),
  () => ({ query: 'state=open', fits: ({ unpaid }) => unpaid > 0 }),
  () => {
    const from = days();
    return { query: `from=${from}`, fits: ({ trandate }) => String(trandate) >= from };
  },
  () => {
    const to = days();
    return { query: `to=${to}&sort=-amount`, fits: ({ trandate }) => String(trandate) <= to };
  },
  () => {
    const foreign = random.pick(invoices).tranid;
    return { query: `q=${foreign}`, fits: ({ tranid }) => tranid === foreign };
  },
  (own) => {
    const { tranid = 'none' } = own[0] ?? {};
    return { query: `q=${tranid}`, fits: (one) => one.tranid === tranid };
  },
];

const pageSize = 25;
const kinds: readonly ((visitor: Visitor, own: readonly Invoice[]) => Check)[] = [
  () => ({ path: '/' }),
  () => ({ path: '/profile' }),
  (_, own) => {
    const { query, fits } = random.pick(filters)(own);
    const wanted = own.filter(fits);
    return wanted.length <= pageSize
      ? { path: `/records/invoice?${query}`, wanted }
      : { path: `/records/invoice?${query}&page=2` };
  },
  (_, own) => {
    const { query, fits } = random.pick(filters)(own);
    return { path: `/files/invoice.csv?${query}`, wanted: own.filter(fits) };
  },
  (_, own) => {
    const one = random.pick(invoices);
    const isOwn = own.includes(one);
    return { path: `/records/invoice/${one.id}`, wanted: isOwn ? [one] : [], status: isOwn ? 200 : 404 };
  },
  (_, own) => {
    const [one] = own;
    return one === undefined ? { path: '/' } : { path: `/records/invoice/${one.id}`, wanted: [one] };
  },
  (_, own) => ({ path: `/views/${site.viewId}`, wanted: own.filter(({ unpaid }) => unpaid > 0) }),
  (_, own) => ({ path: '/pages/open', wanted: own }),
  (_, own) => {
    const [from = '', to = ''] = [days(), days()].sort();
    const form = random.pick(['', '.csv', '.pdf']);
    const wanted = own.filter(({ trandate }) => String(trandate) >= from && String(trandate) <= to);
    return { path: `/statement${form}?from=${from}&to=${to}`, wanted };
  },
  (_, own) => {
    const one = random.chance(0.5) ? random.pick(invoices) : (own[0] ?? random.pick(invoices));
    const isOwn = own.includes(one);
    return { path: `/records/invoice/${one.id}.pdf`, wanted: isOwn ? [one] : [], status: isOwn ? 200 : 404 };
  },
];

/** What is wrong with a response, in the judgement of a model. */
async function judge(
  by: Model,
  visitor: Visitor,
): Promise<{ problems: string[]; judged: Check & { text: string } }> {
  const check = random.pick(kinds)(visitor, ofFamily(by, visitor));
  const answer = await visitor.browser.get(check.path);
  const { status } = answer;
  const isPdf = answer.headers['content-type'] === 'application/pdf';
  const text = isPdf ? textsOf(await readPdf(answer.body)).join(' ') : answer.text;
  const judged = { ...check, text };
  const problems = status === (check.status ?? 200) ? [] : [`${check.path}: ${status}`];
  return { problems: [...problems, ...findLeaks(by, visitor, judged), ...findMissing(judged)], judged };
}

/** Names of the visitor's own customers are in every page, to change to another one. */
function findLeaks(
  { ownerOf: owners }: Model,
  { own, chosen }: Visitor,
  { path, text }: Check & { text: string },
): string[] {
  const family = familyOf(chosen);
  const named = new Set(own.map(({ word }) => word));
  return [...wordsIn(text)]
    .filter((word) => owners.has(word) && !family.has(owners.get(word) ?? 0) && !named.has(word))
    .filter((word) => !path.includes(word))
    .map((word) => `${path}: has ${word} of customer ${owners.get(word)}`);
}

const findMissing = ({ path, wanted = [], text }: Check & { text: string }): string[] =>
  wanted.filter(({ tranid }) => !text.includes(tranid)).map(({ tranid }) => `${path}: lacks ${tranid}`);

async function signIn(visitor: number): Promise<Visitor> {
  const browser = openBrowser(org);
  await org.admin('rate_limits').delete();
  await browser.signIn(addressOf(visitor));
  const own = customersOf.get(visitor) ?? [];
  const chosen = random.pick(own);
  if (own.length > 1) await browser.post('/customer', { customer: String(chosen.id) });
  return { browser, own, chosen };
}

it('shows 20 visitors what is theirs in 1,000 pages and files, and nothing else', async () => {
  const problems: string[] = [];
  let requests = 0;
  let lists = 0;
  for (let index = 0; index < visitorCount; index += 1) {
    if (index === visitorCount / 2) {
      includeChildren = true;
      await switchOn(await asOwner(org), { ...settings, unusedRoles, includeChildren });
    }
    const visitor = await signIn(index);
    for (let request = 0; request < requestsEach; request += 1) {
      const { problems: found, judged } = await judge(model, visitor);
      problems.push(...found);
      requests += 1;
      lists += Number((judged.wanted ?? []).length > 0);
    }
  }
  expect(problems.slice(0, 20)).toEqual([]);
  expect([requests, lists > 200]).toEqual([visitorCount * requestsEach, true]);
});

it('disagrees with a model that gives one invoice to another customer', async () => {
  const visitor = await signIn(0);
  const [moved] = ofFamily(model, visitor);
  if (moved === undefined) throw new Error('the visitor has no invoice');
  const wrong: Model = {
    records: invoices.map((one) => (one === moved ? { ...one, entity: customerCount + 1 } : one)),
    ownerOf: new Map(
      [...ownerOf].map(([word, owner]) => [word, wordsOf(moved).includes(word) ? customerCount + 1 : owner]),
    ),
  };
  const problems: string[] = [];
  for (let request = 0; request < requestsEach; request += 1)
    problems.push(...(await judge(wrong, visitor)).problems);
  expect(problems.some((text) => text.includes('of customer'))).toBe(true);
});
