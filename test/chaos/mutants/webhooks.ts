// Mutants of webhooks: what a receiver relies on when it is called.
import type { Mutant } from './mutant.ts';

export const webhookMutants: readonly Mutant[] = [
  {
    name: 'webhook-retries',
    without: 'a message is sent again until it was delivered',
    file: 'src/platform/webhooks/deliver.ts',
    replaces: 'sendMessage',
    instead: '(original) => async (...given) => ({ ...(await original(...given)), isDelivered: true })',
    concerns: ['kill', 'edit-invoice'],
  },
  {
    name: 'webhook-same-contents',
    without: 'a message that was attempted keeps its contents',
    file: 'src/platform/webhooks/compose.ts',
    replaces: 'store',
    instead: `(original) => async (tx, ctx, job, message, isNews) => {
      const own = { organization_id: ctx.organizationId, endpoint_id: job.key, resource: message.resource };
      await tx('webhook_messages').where({ ...own, status: 'waiting' }).update({ attempts: 0 });
      return original(tx, ctx, job, message, isNews);
    }`,
    concerns: ['kill', 'edit-invoice'],
  },
  {
    name: 'webhook-one-call',
    without: 'a message that tells more closes the one before',
    file: 'src/platform/webhooks/compose.ts',
    replaces: 'store',
    instead: `(original) => async (tx, ctx, job, message, isNews) => {
      const own = { organization_id: ctx.organizationId, endpoint_id: job.key, resource: message.resource };
      const waiting = () => tx('webhook_messages').where({ ...own, status: 'waiting' });
      const ids = (await waiting().where('attempts', '>', 0).select('id')).map(({ id }) => id);
      await original(tx, ctx, job, message, isNews);
      await tx('webhook_messages').whereIn('id', ids).update({ status: 'waiting', ended_at: null });
    }`,
    concerns: ['edit-invoice', 'edit-customer'],
  },
  {
    name: 'webhook-after-failover',
    without: 'a receiver that may have been told of lost commits starts over',
    file: 'src/public/changes/follow.ts',
    replaces: 'isContinued',
    instead: '() => () => true',
    concerns: ['failover'],
  },
];
