// Subscriptions to a view of the views' builders, created by the owner. No runner is active, so mails stay
// queued.
import fc from 'fast-check';
import { asBuilt, type BuilderGroup, byId, type Fixture, insertRow } from '../builder.ts';
import { makeTemplate } from './portal.ts';
import { makeView, viewBuilders } from './views.ts';

type Ids = { id: string; viewId: string; templateId: string };
const recipients = ['ada@example.test'];

async function insertSubscription(fixture: Fixture): Promise<Ids> {
  const [viewId, templateId] = [await makeView(fixture), await makeTemplate(fixture)];
  const id = await insertRow(fixture, 'subscriptions', {
    view_id: viewId,
    owner_id: fixture.owner.id,
    schedule: '0 7 * * *',
    timezone: 'UTC',
    format: 'html',
  });
  for (const email of recipients)
    await insertRow(fixture, 'subscription_recipients', { subscription_id: id, email });
  return { id, viewId, templateId };
}
const ofSubscription = byId(async (fixture) => (await insertSubscription(fixture)).id);

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
