// One webhook: what it sends, whether its receiver takes it, and the log of its messages.
import { useState } from 'preact/hooks';
import { type Answer, api } from '../../api.ts';
import { DeleteButton, ObjectPage, StateBadge } from '../../parts/detail.tsx';
import { Facts } from '../../parts/list.tsx';
import { ActionButton, DialogButton, FormButton, RecordForm } from '../../parts/record-form.tsx';
import { Copied, ShownOnce } from '../../parts/shown-once.tsx';
import { Time } from '../../parts/time.tsx';
import { invalidate, useGet } from '../../query.ts';
import { base, type ScreenProps } from '../../router.ts';
import { may } from '../../session.ts';
import { Deliveries } from './deliveries.tsx';
import { WebhookForm } from './webhook-form.tsx';
import { shortAddress, stateOf, type Webhook } from './words.ts';

const readAgain = (): Promise<void> => invalidate('/webhooks');

export const WebhookScreen = ({ params: { id = '' } }: ScreenProps) => (
  <ObjectPage
    read={useGet('/webhooks/{id}', { path: { id } })}
    kind="Webhook"
    list="/webhooks"
    show={(webhook) => ({
      title: shortAddress(webhook.url),
      lead: webhook.description || undefined,
      actions: <Actions webhook={webhook} />,
      children: <Detail webhook={webhook} />,
    })}
  />
);

function Detail({ webhook }: { webhook: Webhook }) {
  const { version, resources, publicKey, disabledReason } = webhook;
  const key = useGet(may('api-key:read') ? '/api-keys/{id}' : null, { path: { id: webhook.keyId } }).data;
  return (
    <>
      <Facts
        facts={[
          [
            'State',
            <StateBadge states={{ now: stateOf(webhook) }} state="now" detail={disabledReason?.message} />,
          ],
          ['Failing since', webhook.failingSince && <Time at={webhook.failingSince} />],
          ['Next attempt', webhook.nextAttemptAt && <Time at={webhook.nextAttemptAt} relative />],
          ['Events', webhook.events.join(', ')],
          [
            'Records of',
            version &&
              `${version}: ${resources.length === 0 ? 'all that the key reads' : resources.join(', ')}`,
          ],
          [
            'In messages',
            version && (webhook.include === 'records' ? 'The first changes' : 'Where to read the changes'),
          ],
          ['API key', key && <a href={`${base}/keys/${key.id}`}>{key.name}</a>],
          ['Signature', publicKey === null ? 'A shared secret' : <code>{publicKey}</code>],
          [
            'The former secret ends',
            webhook.previousSecretEndsAt && <Time at={webhook.previousSecretEndsAt} />,
          ],
        ]}
      />
      <Deliveries webhook={webhook} />
    </>
  );
}

function Actions({ webhook }: { webhook: Webhook }) {
  const { id, enabled, url } = webhook;
  const params = { path: { id } };
  const change = (body: { enabled: boolean }) =>
    api.PATCH('/webhooks/{id}', { params, body }).then(readAgain);
  return (
    <>
      {may('webhook:update') && (
        <>
          {enabled ? (
            <ActionButton
              label="Send a test"
              kind="primary"
              run={() => api.POST('/webhooks/{id}/test', { params }).then(readAgain)}
            />
          ) : (
            <ActionButton label="Enable again" kind="primary" run={() => change({ enabled: true })} />
          )}
          <DialogButton label="Edit">
            {(close) => <WebhookForm webhook={webhook} onSaved={close} />}
          </DialogButton>
          <DialogButton label="Rotate" title="Rotate the secret">
            {(close) => <Rotate webhook={webhook} onClose={close} />}
          </DialogButton>
          {enabled && <Replay id={id} />}
          {enabled && <ActionButton label="Disable" run={() => change({ enabled: false })} />}
        </>
      )}
      {may('webhook:delete') && (
        <DeleteButton
          what="webhook"
          name="the webhook"
          to="/webhooks"
          run={() => api.DELETE('/webhooks/{id}', { params }).then(() => invalidate('/webhooks '))}
        >
          {shortAddress(url)} hears of nothing any more, and the log of its messages is deleted.
        </DeleteButton>
      )}
    </>
  );
}

/** Everything since a day. */
const Replay = ({ id }: { id: string }) => (
  <FormButton
    label="Send again"
    title="Send messages again"
    action="Send them again"
    fields={[{ name: 'day', label: 'Since the beginning of', kind: 'date', required: true }]}
    initial={{ day: new Date().toLocaleDateString('sv') }}
    save={async ({ day }) => {
      const after = new Date(`${day}T00:00`).toISOString();
      await api.POST('/webhooks/{id}/replay', { params: { path: { id } }, body: { after } });
      await readAgain();
    }}
  >
    <p>
      Events come once more under their ids, which receivers ignore that know them. Of changed records, one
      new message for each resource covers everything since then.
    </p>
  </FormButton>
);

const overlaps = [
  ['0', 'None: only the new one signs from now on'],
  ['1', '1 hour'],
  ['24', '1 day'],
  ['168', '7 days'],
] as const;

function Rotate({ webhook: { id, publicKey }, onClose }: { webhook: Webhook; onClose: () => void }) {
  const [rotated, setRotated] = useState<Answer<'/webhooks/{id}/rotate', 'post'>>();
  if (rotated !== undefined && rotated.secret !== null)
    return (
      <ShownOnce title="New secret" secret={rotated.secret}>
        <Copied onClose={onClose} />
      </ShownOnce>
    );
  return (
    <RecordForm
      fields={[
        {
          name: 'hours',
          label: 'The former secret signs for',
          options: overlaps,
          hint: 'Messages have both signatures until then, so that the receiver can change its secret in between.',
        },
      ]}
      initial={{ hours: '24' }}
      label={publicKey === null ? 'Make a new secret' : 'Make a new key pair'}
      save={async ({ hours }) => {
        const body = { overlapHours: Number(hours) };
        const { data } = await api.POST('/webhooks/{id}/rotate', { params: { path: { id } }, body });
        setRotated(data);
        await readAgain();
        if (data?.secret === null) onClose();
      }}
    />
  );
}
