// Random visitors read what a model of the records says, whatever the ERP writes around their addresses. The model
// knows whose each record is because it wrote it: it reads no address and no setting as the service does.
import { beforeAll, expect, it } from 'vitest';
import type { ReadEngine } from '../../src/core/ctx.ts';
import {
  accessOfFamily,
  findPerson,
  findPortal,
  listFamily,
  type Portal,
  readPortal,
} from '../../src/platform/portal/visitor-scope.ts';
import { createReadEngine } from '../../src/public/index.ts';
import { createRandom } from '../access/random.ts';
import { type Api, listProblems } from '../setup/api.ts';
import { until } from '../setup/until.ts';
import { useOrganization } from '../setup/use-organization.ts';
import { loadCompany, type Row, settings } from './company.ts';

const random = createRandom(51);
/** A whole number, both ends included. */
const between = (min: number, max: number): number => min + random.int(max - min + 1);
const org = useOrganization();
let reads: ReadEngine;
let api: Api;

const domains = [
  { typed: 'aster.example', written: ['aster.example', 'ASTER.example'] },
  { typed: 'xn--bcher-kva.example', written: ['bücher.example', 'xn--bcher-kva.example'] },
  { typed: 'bucher.example', written: ['bucher.example'] },
] as const;
const users = ['a', 'aa', 'ada', 'ada.b', 'x+ada', 'orders', 'sales'];
const addresses = users.flatMap((user) =>
  domains.map((domain) => ({ user, domain, text: `${user}@${domain.typed}` })),
);
type Address = (typeof addresses)[number];

const write = ({ user, domain }: Address): string =>
  `${random.chance(0.3) ? user.toUpperCase() : user}@${random.pick(domain.written)}`;
const separators = [', ', '; ', ' ', ';', ',\n'];
const noise = ['', ' ', '<', 'Ada Lovelace <'];
/** One field with these addresses, as people type them into an ERP. */
function writeField(held: readonly Address[]): string | null {
  if (held.length === 0) return random.chance(0.5) ? null : 'none';
  const before = random.pick(noise);
  const text = held.map(write).join(random.pick(separators));
  return `${before}${text}${before.includes('<') ? '>' : ''}`;
}

type Person = { readonly customer: number; readonly held: readonly Address[]; readonly isActive: boolean };
const people: Person[] = [];
const isInactive = (isActive: boolean): boolean | null => (isActive ? false : random.pick([true, null]));
const someAddresses = (): Address[] => addresses.filter(() => random.chance(0.04));

const count = 40;
const parents = new Map<number, number>();
const customers = Array.from({ length: count }, (_, index): Row => {
  const [id, held, isActive] = [index + 1, someAddresses(), random.chance(0.8)];
  people.push({ customer: id, held, isActive });
  const parent = id > 3 && random.chance(0.4) ? between(1, id - 1) : null;
  if (parent !== null) parents.set(id, parent);
  return { id, name: `Customer ${id}`, email: writeField(held), parent, isinactive: isInactive(isActive) };
});
const contacts = Array.from({ length: 60 }, (_, index): Row => {
  const [customer, held, isActive] = [between(1, count), someAddresses(), random.chance(0.8)];
  people.push({ customer, held, isActive });
  return { id: 1_000 + index, email: writeField(held), company: customer, isinactive: isInactive(isActive) };
});
const statuses = ['open', 'paid', 'void'];
const invoices = Array.from({ length: 600 }, (_, index) => ({
  id: 10_000 + index,
  tranid: `INV-${between(1, 300)}`,
  trandate: `2026-0${between(1, 9)}-1${between(0, 9)}`,
  duedate: random.chance(0.2) ? null : `2026-0${between(1, 9)}-2${between(0, 8)}`,
  total: between(1, 1_000),
  unpaid: random.chance(0.5) ? 0 : between(1, 500),
  entity: random.chance(0.05) ? null : between(1, count),
  status: random.pick(statuses),
}));

/** The customer, and with `includeChildren` all below it. */
function familyOf(customer: number, includeChildren: boolean): Set<number> {
  const family = new Set([customer]);
  if (!includeChildren) return family;
  for (let size = 0; size !== family.size; ) {
    size = family.size;
    for (const [child, parent] of parents) if (family.has(parent)) family.add(child);
  }
  return family;
}

type Check = {
  readonly query: Readonly<Record<string, string>>;
  readonly fits: (one: (typeof invoices)[number]) => boolean;
};
const checks: readonly (() => Check)[] = [
  () => ({ query: {}, fits: () => true }),
  () => ({ query: { amountDue_gt: '0' }, fits: ({ unpaid }) => unpaid > 0 }),
  () => {
    const status = random.pick(statuses);
    return { query: { status }, fits: (one) => one.status === status };
  },
  () => {
    const day = `2026-0${between(1, 9)}-25`;
    return { query: { dueDate_before: day }, fits: ({ duedate }) => duedate !== null && duedate < day };
  },
  () => {
    const number = `INV-${between(1, 300)}`;
    return { query: { number }, fits: ({ tranid }) => tranid === number };
  },
  () => {
    const text = `v-${between(10, 99)}`;
    return { query: { q: text }, fits: ({ tranid }) => tranid.toLowerCase().includes(text) };
  },
];
const sorts = [{}, { sort: 'date' }, { sort: 'amount', order: 'desc' }, { sort: 'amountDue', order: 'asc' }];

const tenant = () => ({ ...org.ctx, organizationId: org.id, reads });
const hidden = new Set(['void']);
const variants = [
  {},
  { includeChildren: true },
  { records: [{ ...settings.records[0], conditions: [{ field: 'status', in: ['open', 'paid'] }] }] },
];

beforeAll(async () => {
  await loadCompany(org.ctx, org.id, { customers, contacts, invoices });
  api = await org.session(org.owner.id);
  reads = createReadEngine(org.ctx);
});

async function makeReady(change: object): Promise<Portal> {
  const answer = await api('put', '/portal/access', { ...settings, ...change });
  expect([answer.status, listProblems(answer)]).toEqual([202, []]);
  await until(async () => (await api('get', '/portal/access')).body.status === 'on');
  const portal = await findPortal(tenant());
  if (portal === undefined) throw new Error('the portal is off');
  return portal;
}

/** What is wrong with the answers to one visitor; empty when the model and the service agree. */
async function compare(
  portal: Portal,
  variant: { includeChildren?: boolean; records?: object },
  address: string,
  requests: number,
): Promise<string[]> {
  const own = people.filter(({ held, isActive }) => isActive && held.some(({ text }) => text === address));
  const wanted = [...new Set(own.map(({ customer }) => String(customer)))].sort();
  const found = [...(await findPerson(tenant(), portal, address)).customers].sort();
  const problems =
    JSON.stringify(found) === JSON.stringify(wanted) ? [] : [`${address}: ${found}, not ${wanted}`];
  for (const customer of found) {
    const access = accessOfFamily(portal, await listFamily(tenant(), portal, customer));
    const family = familyOf(Number(customer), variant.includeChildren === true);
    for (let request = 0; request < requests; request += 1) {
      const { query, fits } = random.pick(checks)();
      const given = { ...query, ...random.pick(sorts), pageSize: '1000' };
      const { records, total } = await readPortal(tenant(), portal, access).list('r-invoice', given);
      const ids = (JSON.parse(records) as { id: string }[]).map(({ id }) => Number(id)).sort((a, b) => a - b);
      const expected = invoices
        .filter((one) => one.entity !== null && family.has(one.entity) && fits(one))
        .filter(({ status }) => variant.records === undefined || !hidden.has(status))
        .map(({ id }) => id);
      if (total !== expected.length || JSON.stringify(ids) !== JSON.stringify(expected))
        problems.push(
          `${address} as ${customer}, ${JSON.stringify(given)}: ${ids.length} of ${expected.length}`,
        );
    }
  }
  return problems;
}

it('random visitors read the records of their customers and no others', { timeout: 120_000 }, async () => {
  let asked = 0;
  for (const variant of variants) {
    const portal = await makeReady(variant);
    for (const { text } of [...addresses, { text: 'nobody@aster.example' }]) {
      expect(await compare(portal, variant, text, 6)).toEqual([]);
      asked += 1;
    }
  }
  expect(asked).toBe(3 * (addresses.length + 1));
});

it('the model notices what is shown to the wrong visitor, and what is not shown', {
  timeout: 60_000,
}, async () => {
  const portal = await makeReady({});
  const [person] = people.filter(({ isActive, held }) => isActive && held.length > 0);
  const address = person?.held[0]?.text ?? '';
  expect(await compare(portal, {}, address, 3)).toEqual([]);
  const withoutConditions = {
    ...portal,
    settings: {
      ...portal.settings,
      people: portal.settings.people.map((one) => ({ ...one, conditions: [] })),
    },
  };
  const withoutContacts = {
    ...portal,
    settings: { ...portal.settings, people: portal.settings.people.slice(0, 1) },
  };
  const withFamily = { ...portal, settings: { ...portal.settings, includeChildren: true } };
  for (const broken of [withoutConditions, withoutContacts, withFamily]) {
    const problems = [];
    for (const { text } of addresses) problems.push(...(await compare(broken, {}, text, 2)));
    expect(problems).not.toEqual([]);
  }
});
