// Webhooks: which systems hear of what happens, and whether they take it.
import { useState } from 'preact/hooks';
import type { Answer, Item } from '../../api.ts';
import { Copy } from '../../parts/copy.tsx';
import { StateBadge } from '../../parts/detail.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { List, listQuery } from '../../parts/list.tsx';
import { Page } from '../../parts/page.tsx';
import { ShownOnce } from '../../parts/shown-once.tsx';
import type { Column } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { useGet } from '../../query.ts';
import { base, query, setQuery } from '../../router.ts';
import { may } from '../../session.ts';
import { WebhookForm } from './webhook-form.tsx';
import { shortAddress, stateOf } from './words.ts';

type Row = Item<'/webhooks'>;

const columns: readonly Column<Row>[] = [
  {
    title: 'Address',
    cell: ({ id, url, description }) => (
      <>
        <a href={`${base}/webhooks/${id}`}>{shortAddress(url)}</a>
        {description !== '' && <span class="fine"> {description}</span>}
      </>
    ),
  },
  { title: 'Events', minor: true, cell: ({ events }) => <span class="key-scopes">{events.join(', ')}</span> },
  {
    title: 'State',
    cell: (webhook) => (
      <StateBadge states={{ now: stateOf(webhook) }} state="now" detail={webhook.disabledReason?.message} />
    ),
  },
  { title: 'Failing since', minor: true, cell: ({ failingSince }) => <Time at={failingSince} relative /> },
];

function NewWebhook({ onClose }: { onClose: () => void }) {
  const [made, setMade] = useState<Answer<'/webhooks', 'post'>>();
  if (made === undefined) return <WebhookForm onSaved={setMade} />;
  const onward = (
    <a class="button primary" href={`${base}/webhooks/${made.id}`} onClick={onClose}>
      Go to the webhook
    </a>
  );
  if (made.secret !== null)
    return (
      <ShownOnce
        title="Secret of the webhook"
        secret={made.secret}
        details={<p>Its receiver verifies messages with it.</p>}
      >
        {onward}
      </ShownOnce>
    );
  return (
    <div class="stack">
      <p>The receiver verifies messages with this public key, which the webhook's page shows as well.</p>
      <Copy text={made.publicKey ?? ''} />
      <p>{onward}</p>
    </div>
  );
}

export const Webhooks = () => (
  <Page
    title="Webhooks"
    lead="Other systems hear within seconds that records have changed, a sync failed, or a payment arrived."
    actions={
      may('webhook:create') && (
        <button type="button" class="primary" onClick={() => setQuery({ new: '1' })}>
          New webhook
        </button>
      )
    }
  >
    {query.value.has('new') && (
      <Dialog title="New webhook" onClose={() => setQuery({ new: null })}>
        <NewWebhook onClose={() => setQuery({ new: null })} />
      </Dialog>
    )}
    <List
      label="Webhooks"
      read={useGet('/webhooks', { query: listQuery() })}
      columns={columns}
      empty="There are no webhooks yet."
      next={
        <>
          A program can follow changes by itself as well: <a href="/docs/public-api#follow-changes">how</a>.
        </>
      }
    />
  </Page>
);
