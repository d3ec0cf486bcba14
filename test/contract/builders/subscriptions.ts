// Subscriptions to a view of the views' builders, created by the owner. No runner is active, so mails stay
// queued.
import fc from 'fast-check';
import { createId } from '../../../src/core/id.ts';
import { asBuilt, type BuilderGroup, type Fixture } from '../builder.ts';
import { viewBuilders } from './views.ts';

type Ids = { id: string; viewId: string; templateId: string };
const recipients = ['ada@example.test'];

async function insertSubscription({ sql, organization, owner, next }: Fixture): Promise<Ids> {
  const [id, viewId, templateId] = [createId(), createId(), createId()];
  const own = { organization_id: organization.id };
  const view = {
    owner_id: owner.id,
    name: 'Things',
    record_type: 'thing',
    columns: ['title'],
    visibility: 'organization',
  };
  await sql(async (tx) => {
    await tx('views').insert({ ...own, ...view, id: viewId });
    await tx('portal_templates').insert({
      ...own,
      id: templateId,
      key: `mail-${next()}-${templateId}`,
      kind: 'email',
      subject: 'x',
      body: 'x',
    });
    const row = {
      view_id: viewId,
      owner_id: owner.id,
      schedule: '0 7 * * *',
      timezone: 'UTC',
      format: 'html',
    };
    await tx('subscriptions').insert({ ...own, ...row, id });
    await tx('subscription_recipients').insert(
      recipients.map((email) => ({ ...own, id: createId(), subscription_id: id, email })),
    );
  });
  return { id, viewId, templateId };
}
const ofSubscription = async (fixture: Fixture) => ({
  params: { id: (await insertSubscription(fixture)).id },
});

const fields = {
  'body.viewId': asBuilt,
  'body.templateId': asBuilt,
  'body.format': asBuilt,
  'body.schedule': fc.constantFrom('*/15 * * * *', '0 3 * * 1-5', '30 4 1 * *'),
  'body.timezone': fc.constantFrom('UTC', 'Europe/London', 'America/New_York', 'Asia/Kolkata'),
  'body.recipients': fc.uniqueArray(
    fc.constantFrom('ada@example.test', 'Bob@Example.test', 'eve+news@example.test'),
    { minLength: 1 },
  ),
} as const;

/** Subscriptions to shared views may be changed by their owner and by callers who may update members. */
const mayRefuse = ['subscription_owner_needed'];

export const subscriptionBuilders: BuilderGroup = {
  ...(viewBuilders.setUp !== undefined && { setUp: viewBuilders.setUp }),
  builders: {
    listSubscriptions: {
      build: async (fixture) => ({ query: { viewId: (await insertSubscription(fixture)).viewId } }),
      fields: { 'query.viewId': asBuilt },
    },
    createSubscription: {
      build: async (fixture) => {
        const { viewId, templateId } = await insertSubscription(fixture);
        return { body: { viewId, templateId, schedule: '0 7 * * *', recipients, format: 'html' } };
      },
      fields,
      repeatable: true,
    },
    getSubscription: { build: ofSubscription },
    updateSubscription: {
      build: async (fixture) => {
        const { id, viewId, templateId } = await insertSubscription(fixture);
        return { params: { id }, body: { viewId, templateId, recipients } };
      },
      fields,
      mayRefuse,
    },
    deleteSubscription: { build: ofSubscription, mayRefuse },
    sendSubscription: { build: ofSubscription, mayRefuse },
    listSubscriptionDeliveries: { build: ofSubscription },
  },
};
