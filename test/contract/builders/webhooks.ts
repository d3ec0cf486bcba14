// Webhook endpoints that follow other events than changed records, since the fixture has no published version. Nothing is
// sent: no worker runs.
import fc from 'fast-check';
import { createId } from '../../../src/core/id.ts';
import { webhookBinding } from '../../../src/platform/webhooks/secrets.ts';
import { createWebhookSecret, eventTypes, recordsChanged } from '../../../src/webhooks/index.ts';
import { makeKey } from '../../setup/organization.ts';
import { instants } from '../arbitrary.ts';
import { asBuilt, type BuilderGroup, byId, type Fixture, insertRow } from '../builder.ts';

const url = 'https://hooks.example.test/portal';

async function insertEndpoint(fixture: Fixture): Promise<string> {
  const { ctx, organization } = fixture;
  const { id: api_key_id } = await makeKey(ctx, organization.id);
  const id = createId();
  const secret = ctx.keyring.encrypt(createWebhookSecret('v1'), webhookBinding(organization.id, id));
  return insertRow(fixture, 'webhook_endpoints', {
    ...{ id, url, description: '', events: ['sync.failed'], resources: [], api_key_id, secret },
    ...{ include: 'none', signature: 'v1', enabled: true },
  });
}
const ofEndpoint = byId(insertEndpoint);

async function insertDelivery(fixture: Fixture) {
  const id = await insertEndpoint(fixture);
  const now = new Date();
  const deliveryId = await insertRow(fixture, 'webhook_messages', {
    ...{
      endpoint_id: id,
      type: 'sync.failed',
      data: '{}',
      status: 'delivered',
      due_at: now,
      created_at: now,
    },
  });
  await insertRow(fixture, 'webhook_attempts', {
    ...{ message_id: deliveryId, number: 1, reason: 'event', started_at: now, duration_ms: 1, status: 204 },
  });
  return { id, deliveryId };
}

const fields = {
  'body.url': fc.constantFrom(url, 'https://example.com/', 'https://[2001:db8::1]:8443/x?y=z'),
  'body.events': fc.subarray(
    eventTypes.filter((type) => type !== recordsChanged),
    { minLength: 1 },
  ),
  'body.version': fc.constant(null),
  'body.resources': fc.constant([]),
  'body.keyId': asBuilt,
} as const;
/** Events need the permission to read what they are about, and keys read records. */
const mayRefuse = ['missing_permission', 'escalation'];

export const webhookBuilders: BuilderGroup = {
  builders: {
    listWebhooks: { build: () => ({}) },
    createWebhook: {
      build: async ({ ctx, organization }) => ({
        body: { url, events: ['sync.failed'], keyId: (await makeKey(ctx, organization.id)).id },
      }),
      fields,
      repeatable: true,
      mayRefuse,
    },
    getWebhook: { build: ofEndpoint },
    updateWebhook: {
      build: async (fixture) => ({
        ...(await ofEndpoint(fixture)),
        body: { keyId: (await makeKey(fixture.ctx, fixture.organization.id)).id },
      }),
      fields,
      mayRefuse,
    },
    deleteWebhook: { build: ofEndpoint },
    rotateWebhookSecret: {
      build: async (fixture) => ({ ...(await ofEndpoint(fixture)), body: { overlapHours: 1 } }),
      repeatable: true,
    },
    testWebhook: { build: ofEndpoint, repeatable: true },
    listWebhookDeliveries: {
      build: async (fixture) => ({ params: { id: (await insertDelivery(fixture)).id } }),
      fields: { 'query.after': instants, 'query.before': asBuilt },
    },
    getWebhookDelivery: { build: async (fixture) => ({ params: await insertDelivery(fixture) }) },
    replayWebhook: {
      build: async (fixture) => {
        const { id, deliveryId } = await insertDelivery(fixture);
        return { params: { id }, body: { deliveryId } };
      },
      fields: { 'body.deliveryId': asBuilt, 'body.after': asBuilt, 'body.before': instants },
      repeatable: true,
    },
  },
};
