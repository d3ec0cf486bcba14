// Companies whose published versions mask a field that the console, mails and agents show too: invoices with
// a view, things with rejections and proposed deletions, and an agent.
import { createId } from '../../src/core/id.ts';
import { type AgentSite, type Company, openAgentSite } from '../platform/conversations/fixture.ts';
import { type Fixture, subscriptionFixture } from '../platform/subscriptions/fixture.ts';
import { invoicesEndpoint, publishVersion } from '../public/fixture.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { makeKey, makeMember } from '../setup/organization.ts';
import { datedFields, memoryErp, type SyncFixture, syncFixture } from '../sync/fixture.ts';

export type PlatformFixture = {
  readonly invoices: Fixture;
  readonly viewId: string;
  /** Of the version that masks the numbers of the invoices. */
  readonly versionId: string;
  /** Of an earlier version, `v1`, that masks none. */
  readonly earlierVersionId: string;
  readonly templateId: string;
  /** Of a key that reads masked fields as they are. */
  readonly unmaskedSecret: string;
  readonly makePerson: typeof makePerson;
  readonly things: SyncFixture;
  readonly proposalId: string;
  readonly agents: AgentSite;
  readonly company: Company;
  close(): Promise<void>;
};

/** A member with this role, and the secret of a key of theirs. */
async function makePerson(ctx: Fixture['ctx'], organizationId: string, role: string | readonly string[]) {
  const { id } = await makeMember(ctx, organizationId, role);
  return {
    id,
    secret: (await makeKey(ctx, organizationId, { permissions: ['write'], createdBy: id })).secret,
  };
}

export const maskedInvoices = {
  ...invoicesEndpoint,
  fields: invoicesEndpoint.fields.map((field) =>
    field.name === 'number' ? { ...field, mask: 'last4' } : field,
  ),
};
const maskedThings = {
  name: 'things',
  recordType: 'thing',
  fields: [
    { name: 'name', source: 'name', mask: 'hash' },
    { name: 'total', source: 'total' },
  ],
  filters: [],
  sorts: [],
};

async function thingsFixture(database: TestDatabase): Promise<{ things: SyncFixture; proposalId: string }> {
  const things = await syncFixture(database.ctx, memoryErp(datedFields));
  things.erp.shownAs = { number: 'total', name: 'name', date: null, amount: 'total' };
  for (let id = 1; id <= 60; id += 1) things.erp.put(id);
  await things.sync('full');
  await publishVersion(database.ctx, things.organizationId, { endpoints: [maskedThings] });
  for (let id = 1; id <= 30; id += 1) things.erp.records.delete(String(id));
  things.erp.rejects.set('91', { id: '91', code: 'VALUE_UNREADABLE', message: 'name "Quagmire" is odd' });
  things.erp.rejects.set('92', { id: '92', code: 'VALUE_UNREADABLE', message: 'total is not a number' });
  await things.sync('incremental');
  const [proposal] = await things.query<{ id: string }>(`select id from ${things.schema}.deletion_proposals`);
  return { things, proposalId: proposal?.id ?? '' };
}

export async function createPlatformFixture(): Promise<PlatformFixture> {
  const [invoices, database, agents] = await Promise.all([
    subscriptionFixture(),
    testDatabase(),
    openAgentSite({ timeMs: 100_000 }),
  ]);
  const { ctx, organization, owner } = invoices;
  const viewId = await invoices.view({ visibility: 'organization', sort: [] });
  const earlierVersionId = await publishVersion(ctx, organization.id);
  const versionId = await publishVersion(ctx, organization.id, {
    version: 'v2',
    endpoints: [maskedInvoices],
  });
  const body = '{{ record.tranid }}|{% for row in rows %}{{ row.cells[0] }};{% endfor %}';
  const template = await owner('post', '/portal/templates', {
    key: `t-${createId()}`,
    kind: 'email',
    subject: 'S',
    body,
  });
  const unmasked = await makeKey(ctx, organization.id);
  await invoices.as((tx) => tx('api_keys').where({ id: unmasked.id }).update({ scope_unmasked: true }));
  const company = await agents.company();
  await publishVersion(agents.ctx, company.id, {
    version: 'v3',
    endpoints: [{ ...maskedInvoices, name: 'secrets' }],
  });
  return {
    invoices,
    viewId,
    versionId,
    earlierVersionId,
    templateId: template.body.id,
    unmaskedSecret: unmasked.secret,
    makePerson,
    ...(await thingsFixture(database)),
    agents,
    company,
    close: async () => {
      await invoices.close();
      await agents.close();
      await database.close();
    },
  };
}
