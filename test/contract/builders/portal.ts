// Portal configuration for the record type of the views' builders.
import fc from 'fast-check';
import { createId } from '../../../src/core/id.ts';
import { openIssuer } from '../../setup/issuer.ts';
import { asBuilt, type BuilderGroup, byId, type Fixture, insertRow } from '../builder.ts';
import { makeView, viewBuilders } from './views.ts';

/** The one mapping of the synced record type. */
async function thingMapping(fixture: Fixture): Promise<string> {
  await noThingMapping(fixture);
  return insertRow(fixture, 'portal_field_mappings', { record_type: 'thing', fields: '[]' });
}
const noThingMapping = ({ sql, organization }: Fixture) =>
  sql((tx) =>
    tx('portal_field_mappings').where({ organization_id: organization.id, record_type: 'thing' }).delete(),
  );
const ofMapping = byId((fixture) =>
  insertRow(fixture, 'portal_field_mappings', { record_type: `gone ${fixture.next()}`, fields: '[]' }),
);
async function makeAgent(fixture: Fixture): Promise<string> {
  const version = `v${9_000 + fixture.next()}`;
  await insertRow(fixture, 'api_schemas', { version, created_by: createId() });
  return insertRow(fixture, 'agents', { name: `Of ${version}`, model: 'offline', api_version: version });
}

/** The portal's settings, whose document is held by another process. */
async function beingPrepared(fixture: Fixture): Promise<void> {
  const { organization, sql } = fixture;
  const ofOrganization = { organization_id: organization.id };
  const [last] = await sql((tx) => tx('portal_access').where(ofOrganization).max('revision as revision'));
  const revision = Number(last?.['revision'] ?? 0) + 1;
  const settings = {
    ...{ enabled: true, people: [], records: [], includeChildren: false, signInLifetimeDays: 14 },
    ...{ languages: ['en'], defaultLanguage: 'en' },
  };
  const progress = { step: 'starting', done: 0, total: 1 };
  await insertRow(fixture, 'api_schemas', {
    version: `p${revision}`,
    created_by: createId(),
    publication: JSON.stringify({ status: 'running', progress, problems: [] }),
    publication_lease_until: '2099-01-01T00:00:00Z',
  });
  await sql((tx) =>
    tx('portal_access').insert({
      ...ofOrganization,
      revision,
      settings: JSON.stringify(settings),
      document: `p${revision}`,
    }),
  );
}
const ofVisitor = byId((fixture) =>
  insertRow(fixture, 'portal_visitors', { email: `${fixture.next()}@people.example` }),
);
const makePage = (fixture: Fixture, ...blocks: object[]): Promise<string> =>
  insertRow(fixture, 'portal_pages', {
    slug: `page-${fixture.next()}`,
    title: 'Page',
    blocks: JSON.stringify(blocks),
  });
const ofPage = byId((fixture) => makePage(fixture));
export const makeTemplate = (fixture: Fixture): Promise<string> =>
  insertRow(fixture, 'portal_templates', {
    key: `key-${createId()}`,
    kind: 'email',
    subject: 'x',
    body: 'x',
  });
const ofTemplate = byId(makeTemplate);

const makeProvider = async () => ({
  ...{ issuer: await openIssuer(), clientId: 'portal', clientSecret: 'a secret' },
});

/** A picture of one pixel. */
const picture =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const legalLinks = fc.array(
  fc.constantFrom(
    { label: 'Terms', url: 'https://acme.example/terms' },
    { label: 'Imprint', url: 'https://acme.example/imprint?a=b#c' },
  ),
  { maxLength: 6 },
);

const mapped = { source: 'title', label: 'Title' };
const mappedFields = fc.uniqueArray(
  fc.constantFrom(
    { ...mapped, format: { type: 'text' }, visible: false },
    { ...mapped, format: null, position: 7 },
    { source: 'amount', label: 'Amount', format: { type: 'number', digits: 2 }, position: 3 },
    { source: 'amount', label: 'Amount', format: { type: 'currency', currency: 'EUR', digits: 2 } },
  ),
  { minLength: 1, selector: ({ source }) => source },
);
const leaves = fc.constantFrom(
  { label: 'Things', kind: 'record-type', target: 'thing', icon: 'box' },
  { label: 'Help', kind: 'link', target: 'https://acme.example/help' },
  { label: 'Empty', kind: 'group' },
);
const items = fc.array(
  fc.oneof(
    leaves,
    fc.record({ label: fc.constant('More'), kind: fc.constant('group'), children: fc.array(leaves) }),
  ),
  {
    maxLength: 4,
  },
);
const slugs = fc.uuid();
const blocks = fc.array(
  fc.constantFrom(
    { type: 'heading', level: 2, text: 'Hello' },
    { type: 'text', markdown: 'Some *text*' },
    { type: 'record-list', recordType: 'thing', pageSize: 10 },
    { type: 'link', label: 'Terms', url: 'https://acme.example/terms' },
    { type: 'image', url: 'https://acme.example/logo.png', alt: '' },
  ),
  { maxLength: 4 },
);
const texts = {
  'body.subject': fc.constantFrom('Hello {{ record.title }}', 'Plain'),
  'body.body': fc.constantFrom(
    '<p>{{ record.title }}</p>',
    '{% for i in (1..3) %}{{ i }}{% endfor %}',
    'Plain',
  ),
};

export const portalBuilders: BuilderGroup = {
  ...(viewBuilders.setUp !== undefined && { setUp: viewBuilders.setUp }),
  builders: {
    getPortalAccess: { build: () => ({}) },
    putPortalAccess: {
      build: async (fixture) => ({
        body: { enabled: false, people: [], records: [], agentId: await makeAgent(fixture) },
      }),
      // What enabled settings must name is tested with those that do.
      fields: { 'body.enabled': fc.constant(false), 'body.revision': asBuilt, 'body.agentId': asBuilt },
    },
    cancelPortalPreparation: {
      build: async (fixture) => {
        await beingPrepared(fixture);
        return {};
      },
      alone: true,
    },
    getPortalBranding: { build: () => ({}) },
    putPortalBranding: {
      build: () => ({ body: { name: 'Acme', accent: '#0b6e4f', logo: picture } }),
      fields: {
        'body.accent': fc.constantFrom('#0b6e4f', '#1D5FD1', '#000000', null),
        'body.legalLinks': legalLinks,
        'body.logo': fc.constantFrom(picture, null),
        'body.revision': asBuilt,
      },
    },
    getPortalSignIn: { build: () => ({}) },
    putPortalSignIn: {
      build: async () => ({ body: { openIdConnect: await makeProvider() } }),
      fields: async () => {
        const provider = await makeProvider();
        const others = [null, { ...provider, clientSecret: null }, { ...provider, label: 'Acme' }];
        return { 'body.openIdConnect': fc.constantFrom(provider, ...others) };
      },
    },
    listPortalVisitors: { build: () => ({ query: { q: 'ada' } }) },
    createPortalVisitor: {
      build: ({ next }) => ({ body: { email: `ada${next()}@people.example`, customers: ['1'] } }),
      fields: { 'body.email': fc.uuid().map((name) => `${name}@people.example`) },
      repeatable: true,
    },
    getPortalVisitor: { build: ofVisitor },
    updatePortalVisitor: {
      build: async (fixture) => ({ ...(await ofVisitor(fixture)), body: { blocked: true } }),
    },
    deletePortalVisitor: { build: ofVisitor },
    listFieldMappings: { build: () => ({ query: { recordType: 'thing' } }) },
    createFieldMapping: {
      build: async (fixture) => {
        await noThingMapping(fixture);
        return { body: { recordType: 'thing', fields: [mapped] } };
      },
      fields: { 'body.recordType': asBuilt, 'body.fields': mappedFields },
      alone: true,
    },
    getFieldMapping: { build: ofMapping },
    updateFieldMapping: {
      build: async (fixture) => ({ params: { id: await thingMapping(fixture) }, body: { fields: [mapped] } }),
      fields: { 'body.fields': mappedFields },
      alone: true,
    },
    deleteFieldMapping: { build: ofMapping },
    getSidebar: { build: () => ({}) },
    putSidebar: {
      build: () => ({ body: { items: [] } }),
      fields: { 'body.items': items, 'body.revision': asBuilt },
    },
    listPages: {
      build: async (fixture) => {
        const viewId = await makeView(fixture);
        await makePage(fixture, { type: 'view', viewId, title: null, pageSize: 25 });
        return { query: { viewId } };
      },
      fields: { 'query.viewId': asBuilt },
    },
    createPage: {
      build: ({ next }) => ({ body: { slug: `new-${next()}`, title: 'Page' } }),
      fields: { 'body.slug': slugs, 'body.blocks': blocks },
      repeatable: true,
    },
    getPage: { build: ofPage },
    updatePage: {
      build: async (fixture) => ({ ...(await ofPage(fixture)), body: { title: 'Other' } }),
      // Only the current revision is accepted, and each change creates a new one.
      fields: { 'body.slug': slugs, 'body.blocks': blocks, 'body.revision': asBuilt },
    },
    publishPage: {
      build: async (fixture) => ({ ...(await ofPage(fixture)), body: { revision: 1 } }),
      fields: { 'body.revision': asBuilt },
    },
    deletePage: { build: ofPage },
    listTemplates: { build: () => ({ query: { kind: 'email' } }) },
    createTemplate: {
      build: ({ next }) => ({ body: { key: `new-${next()}`, kind: 'email', subject: 'x', body: 'x' } }),
      fields: { 'body.key': slugs, 'body.kind': fc.constant('email'), ...texts },
      repeatable: true,
      inputs: 16,
    },
    getTemplate: { build: ofTemplate },
    updateTemplate: {
      build: async (fixture) => ({ ...(await ofTemplate(fixture)), body: { body: 'Other' } }),
      fields: { 'body.key': slugs, ...texts },
      inputs: 16,
    },
    deleteTemplate: { build: ofTemplate },
    previewTemplate: {
      build: async (fixture) => ({
        ...(await ofTemplate(fixture)),
        body: { recordType: 'thing', recordId: '7', viewId: await makeView(fixture) },
      }),
      fields: { 'body.recordType': asBuilt, 'body.recordId': asBuilt, 'body.viewId': asBuilt, ...texts },
      // Its record and view need another permission.
      mayRefuse: ['record_read_needed'],
      // Nothing is stored.
      auditRows: 0,
      repeatable: true,
      inputs: 16,
    },
  },
};
