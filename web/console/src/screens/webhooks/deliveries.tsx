// The log of a webhook: each message, its attempts, and what the receiver answered.
import { api } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { StateBadge, stateFilter } from '../../parts/detail.tsx';
import { Facts, List, listQuery, selectFilter } from '../../parts/list.tsx';
import { Section } from '../../parts/page.tsx';
import { ActionButton, DialogButton } from '../../parts/record-form.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { invalidate, useGet } from '../../query.ts';
import { useReadSoon } from '../../read-soon.ts';
import { may } from '../../session.ts';
import { aboutDelivery, type Delivery, deliveryStates, type Webhook } from './words.ts';

type Filters = { status: Delivery['status']; type: string };

const columns: readonly Column<Delivery>[] = [
  {
    title: 'Event',
    cell: (delivery) => (
      <>
        {delivery.type} <span class="fine">{aboutDelivery(delivery)}</span>
      </>
    ),
  },
  {
    title: 'State',
    cell: ({ status, attempts }) => (
      <StateBadge states={deliveryStates} state={status} detail={attempts.at(-1)?.error} />
    ),
  },
  { title: 'Attempts', minor: true, align: 'end', cell: ({ attempts }) => attempts.length },
  { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} relative /> },
];

const readAgain = (): Promise<void> => invalidate('/webhooks');

/** Read again while messages wait. */
export function Deliveries({ webhook }: { webhook: Webhook }) {
  const { id, events } = webhook;
  const query = listQuery<Filters>('status', 'type');
  const read = useGet('/webhooks/{id}/deliveries', { path: { id }, query });
  useReadSoon(
    read.data?.data.some(({ status }) => status === 'waiting'),
    readAgain,
  );
  const types = [...events, 'webhook.test'].map((type) => [type, type] as const);
  return (
    <Section title="Log">
      <List
        label="Messages"
        read={read}
        filters={[stateFilter(deliveryStates), selectFilter('Event', 'type', 'Any event', types)]}
        columns={columns}
        actions={(delivery) => (
          <>
            <DialogButton label="Details" kind="link" title={delivery.type}>
              {() => <Details delivery={delivery} />}
            </DialogButton>
            <SendAgain webhook={webhook} delivery={delivery} />
          </>
        )}
      />
    </Section>
  );
}

const SendAgain = ({ webhook: { id, enabled }, delivery }: { webhook: Webhook; delivery: Delivery }) =>
  enabled && may('webhook:update') ? (
    <ActionButton
      label={delivery.status === 'waiting' ? 'Send now' : 'Send again'}
      kind="link"
      about={`${delivery.type} ${aboutDelivery(delivery)}`}
      run={() => {
        const body = { deliveryId: delivery.id };
        return api.POST('/webhooks/{id}/replay', { params: { path: { id } }, body }).then(readAgain);
      }}
    />
  ) : null;

function Details({ delivery }: { delivery: Delivery }) {
  const { messageId, status, data, attempts, nextAttemptAt } = delivery;
  const answer = attempts.at(-1)?.response;
  return (
    <div class="stack">
      <Facts
        facts={[
          ['State', <StateBadge states={deliveryStates} state={status} />],
          ['webhook-id', <code>{messageId}</code>],
          ['Next attempt', nextAttemptAt && <Time at={nextAttemptAt} relative />],
        ]}
      />
      {data !== null && (
        <>
          <h3>What was sent</h3>
          <pre>
            <code>{JSON.stringify(data, null, 2)}</code>
          </pre>
        </>
      )}
      <h3>{formatCount(attempts.length, 'attempt')}</h3>
      <Table
        label="Attempts"
        rowKey={({ number }) => String(number)}
        rows={attempts}
        columns={[
          { title: 'When', cell: ({ startedAt }) => <Time at={startedAt} /> },
          { title: 'Why', cell: ({ reason }) => reason },
          { title: 'Answer', cell: ({ status: code, error }) => error ?? code },
          { title: 'ms', align: 'end', cell: ({ durationMs }) => durationMs },
        ]}
      />
      {answer && (
        <>
          <h3>The last answer</h3>
          <pre>
            <code>{answer}</code>
          </pre>
        </>
      )}
    </div>
  );
}
