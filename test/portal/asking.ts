// A company whose portal has an agent: two customers with invoices that look alike, and a version on which the agent
// reads them.
import { createId } from '../../src/core/id.ts';
import { publishVersion } from '../public/fixture.ts';
import type { OrganizationSite } from '../setup/use-organization.ts';
import { loadCompany, settings } from './company.ts';
import { asOwner, type PortalOwner, switchOn } from './served-portal.ts';

export const endpoint = {
  name: 'invoices',
  recordType: 'invoice',
  fields: [
    { name: 'number', source: 'tranid' },
    { name: 'date', source: 'trandate' },
    { name: 'dueDate', source: 'duedate' },
    { name: 'total', source: 'total' },
    { name: 'amountDue', source: 'unpaid' },
    { name: 'customerId', source: 'entity', scopable: true },
    { name: 'status', source: 'status', scopable: true },
  ],
  filters: [
    { field: 'number', operators: ['eq', 'contains', 'starts_with'] },
    { field: 'customerId', operators: ['eq', 'null'] },
    { field: 'amountDue', operators: ['eq', 'gt', 'gte', 'lt'] },
    { field: 'status', operators: ['eq', 'not'] },
    { field: 'dueDate', operators: ['before', 'lte'] },
  ],
  sorts: ['number', 'total', 'amountDue', 'date'],
};
/** Not in the portal. */
export const customersEndpoint = {
  name: 'customers',
  recordType: 'customer',
  fields: [
    { name: 'name', source: 'name' },
    { name: 'email', source: 'email' },
  ],
  filters: [{ field: 'name', operators: ['contains'] }],
  sorts: ['name'],
};
export const withoutScope = {
  ...endpoint,
  fields: endpoint.fields.map(({ name, source }) => ({ name, source })),
};

const customers = [
  {
    id: 1,
    name: 'Aster',
    email: 'ann@aster.example, bob@aster.example, ada@both.example',
    isinactive: false,
  },
  { id: 2, name: 'Foreign-Briar', email: 'eve@briar.example, ada@both.example', isinactive: false },
];
const common = { trandate: '2026-01-15', duedate: '2026-02-15', lines: null };
/** What no page for the first customer may have. */
export const foreign = /FGN-|7777|Foreign-Briar|briar\.example/;
const invoices = [
  ...[1, 2, 3].map((at) => ({
    ...{ ...common, id: 100 + at, tranid: `INV-${at}`, total: 10 * at, unpaid: at === 3 ? 0 : 10 * at },
    ...{ entity: 1, status: at === 3 ? 'paid' : 'open' },
  })),
  ...[1, 2].map((at) => ({
    ...{ ...common, id: 200 + at, tranid: `FGN-${at}`, total: 7777.5, unpaid: 7777.5, entity: 2 },
    status: 'open',
  })),
];

/** The portal is on and has no agent yet. */
export async function openAskedCompany(org: OrganizationSite): Promise<PortalOwner> {
  await loadCompany(org.ctx, org.id, { customers, invoices });
  const owner = await asOwner(org);
  await switchOn(owner);
  return owner;
}

/** A running agent on a new version with these endpoints. Returns its id. */
export async function addAgent(
  org: OrganizationSite,
  version: string,
  {
    endpoints = [endpoint, customersEndpoint],
    model = 'offline',
  }: { endpoints?: object[]; model?: string } = {},
): Promise<string> {
  await publishVersion(org.ctx, org.id, { version, endpoints: endpoints as never });
  const id = createId();
  const agent = { id, organization_id: org.id, name: `Agent of ${version}`, status: 'running' };
  await org.sql((tx) => tx('agents').insert({ ...agent, model, api_version: version }));
  return id;
}

/** With settings of the company. */
export const putAccess = ({ api }: PortalOwner, change: object) =>
  api('put', '/portal/access', { ...settings, ...change });
