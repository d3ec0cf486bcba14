// Subscriptions: a view that is sent by mail on a schedule, and each mail that was sent.
import { useState } from 'preact/hooks';
import { type Answer, api, type Item } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { ObjectPage, StateBadge, type States, stateFilter } from '../../parts/detail.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { ageColumn, Facts, List, listQuery } from '../../parts/list.tsx';
import { Page, Section } from '../../parts/page.tsx';
import {
  ActionButton,
  ConfirmButton,
  DialogButton,
  RecordForm,
  splitList,
} from '../../parts/record-form.tsx';
import { describeSchedule, ScheduleFields, scheduleValue } from '../../parts/schedule.tsx';
import { Time } from '../../parts/time.tsx';
import { invalidate, useGet } from '../../query.ts';
import { useReadSoon } from '../../read-soon.ts';
import { base, query, type ScreenProps, setQuery } from '../../router.ts';
import { may } from '../../session.ts';
import { first100, RemoveButton, saveObject } from './objects.tsx';

type Subscription = Answer<'/subscriptions/{id}'>;
type Delivery = Item<'/subscriptions/{id}/deliveries'>;
const refresh = (): Promise<void> => invalidate('/subscriptions');

const formats = [
  ['html', 'In the mail: the first 50 records'],
  ['csv', 'Attached as CSV: all records'],
] as const;

function useChoices() {
  const views = useGet(may('view:read') ? '/views' : null, first100());
  const templates = useGet(
    may('portal:read') ? '/portal/templates' : null,
    first100({ kind: 'email' as const }),
  );
  return {
    views: views.data?.data.map(({ id, name }) => [id, name] as const) ?? [],
    templates: [
      ['', 'The template of the service'] as const,
      ...(templates.data?.data ?? []).map(({ id, key }) => [id, key] as const),
    ],
  };
}

type Values = Readonly<Record<'viewId' | 'recipients' | 'format' | 'templateId' | 'enabled', string>>;

/** The body of a request. */
const toBody = ({ recipients, format, templateId, enabled, viewId }: Values) => ({
  viewId,
  recipients: splitList(recipients),
  format: format as Subscription['format'],
  templateId: (format === 'html' && templateId) || null,
  enabled: enabled === 'true',
});

function SubscriptionForm({ subscription, close }: { subscription?: Subscription; close?: () => void }) {
  const { views, templates } = useChoices();
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const [schedule, setSchedule] = useState(
    scheduleValue(subscription?.schedule ?? '0 7 * * 1-5', subscription?.timezone ?? zone),
  );
  if (views.length === 0) return <p class="muted">A subscription needs a view that you can see.</p>;
  const initial =
    subscription === undefined
      ? { viewId: query.value.get('viewId') ?? views[0]?.[0] ?? '', enabled: 'true' }
      : {
          ...subscription,
          recipients: subscription.recipients.map(({ email }) => email).join('\n'),
          enabled: String(subscription.enabled),
        };
  return (
    <RecordForm
      label={subscription === undefined ? 'Create subscription' : 'Save subscription'}
      initial={initial}
      save={(values) => {
        const body = { ...toBody(values), schedule: schedule.schedule ?? '', timezone: schedule.timezone };
        return saveObject('/subscriptions', subscription?.id, body, close);
      }}
      fields={[
        { name: 'viewId', label: 'View', options: views },
        {
          name: 'recipients',
          label: 'Recipients',
          rows: 3,
          required: true,
          hint: 'One address a line, at most 50. Each gets a separate mail.',
        },
        { name: 'format', label: 'Records', options: formats },
        {
          name: 'templateId',
          label: 'Template',
          options: templates,
          when: ({ format }) => format === 'html',
        },
        { name: 'enabled', label: 'Enabled', kind: 'check' },
      ]}
    >
      <ScheduleFields
        value={schedule}
        onChange={setSchedule}
        hint="When the mails are sent."
        manual={false}
      />
    </RecordForm>
  );
}

const states: States<'enabled' | 'disabled' | 'failed'> = {
  enabled: ['good', 'Enabled'],
  disabled: ['calm', 'Disabled'],
  failed: ['bad', 'Disabled'],
};

function State({ subscription: { enabled, disabledReason } }: { subscription: Subscription }) {
  const state = enabled ? 'enabled' : disabledReason === null ? 'disabled' : 'failed';
  return <StateBadge states={states} state={state} detail={disabledReason?.message} />;
}

export const Subscriptions = () => (
  <Page
    title="Subscriptions"
    lead="Views that are sent by mail on a schedule."
    actions={
      may('subscription:create') && (
        <button type="button" class="primary" onClick={() => setQuery({ new: '1' })}>
          New subscription
        </button>
      )
    }
  >
    {query.value.has('new') && (
      <Dialog title="New subscription" onClose={() => setQuery({ new: null, viewId: null })}>
        <SubscriptionForm />
      </Dialog>
    )}
    <List
      label="Subscriptions"
      read={useGet('/subscriptions', { query: listQuery<{ viewId: string }>('viewId') })}
      filterNames={['viewId']}
      next={
        <>
          They send a view: <a href={`${base}/views`}>see the views</a>.
        </>
      }
      columns={[
        {
          title: 'View',
          cell: ({ id, view }) => (
            <a href={`${base}/subscriptions/${id}`}>{view?.name ?? 'A view that you cannot see'}</a>
          ),
        },
        { title: 'Schedule', cell: ({ schedule, timezone }) => describeSchedule(schedule, timezone) },
        { title: 'Recipients', minor: true, align: 'end', cell: ({ recipients }) => recipients.length },
        { title: 'State', cell: (subscription) => <State subscription={subscription} /> },
        ageColumn('Next', 'nextRunAt'),
      ]}
    />
  </Page>
);

const deliveryStates: States<Delivery['status']> = {
  queued: ['busy', 'Queued'],
  sending: ['busy', 'Sending'],
  sent: ['good', 'Sent'],
  failed: ['bad', 'Failed'],
  unknown: ['warn', 'May have arrived'],
  skipped: ['calm', 'Skipped'],
};

/** Read again while mails are on their way. */
function Deliveries({ id }: { id: string }) {
  const read = useGet('/subscriptions/{id}/deliveries', {
    path: { id },
    query: listQuery<{ status: Delivery['status'] }>('status'),
  });
  useReadSoon(
    read.data?.data.some(({ status }) => deliveryStates[status][0] === 'busy'),
    read.reload,
  );
  return (
    <Section title="Deliveries">
      <List
        label="Mails"
        read={read}
        filters={[stateFilter(deliveryStates)]}
        columns={[
          { title: 'Recipient', cell: ({ recipient }) => recipient },
          {
            title: 'State',
            cell: ({ status, error }) => <StateBadge states={deliveryStates} state={status} detail={error} />,
          },
          { title: 'Records', minor: true, align: 'end', cell: ({ records }) => records },
          { title: 'Sent', cell: ({ sentAt, slot }) => <Time at={sentAt ?? slot} /> },
          {
            title: 'Why',
            minor: true,
            cell: ({ trigger }) => (trigger === 'manual' ? 'By hand' : 'Schedule'),
          },
        ]}
      />
    </Section>
  );
}

function Actions({ subscription }: { subscription: Subscription }) {
  const { id, recipients, disabledReason } = subscription;
  const params = { path: { id } };
  const active = recipients.filter(({ status }) => status === 'active').length;
  return (
    <>
      {may('subscription:update') && (
        <>
          {disabledReason !== null && (
            <ActionButton
              label="Enable again"
              kind="primary"
              run={() => api.PATCH('/subscriptions/{id}', { params, body: { enabled: true } }).then(refresh)}
            />
          )}
          <ConfirmButton
            label="Send now"
            danger={false}
            run={() => api.POST('/subscriptions/{id}/send', { params }).then(refresh)}
          >
            {formatCount(active, 'mail')} will be sent now, in addition to the schedule.
          </ConfirmButton>
          <DialogButton label="Edit">
            {(close) => <SubscriptionForm subscription={subscription} close={close} />}
          </DialogButton>
        </>
      )}
      {may('subscription:delete') && (
        <RemoveButton what="subscription" name="the subscription" list="/subscriptions" id={id}>
          {formatCount(active, 'recipient')} will get no more mails. Queued mails are cancelled, and the list
          of deliveries is deleted.
        </RemoveButton>
      )}
    </>
  );
}

function SubscriptionDetail({ subscription }: { subscription: Subscription }) {
  const { id, view, recipients, format, nextRunAt, owner, lastSlot } = subscription;
  return (
    <>
      <Facts
        facts={[
          ['State', <State subscription={subscription} />],
          ['View', view && <a href={`${base}/views/${view.id}`}>{view.name}</a>],
          ['Next', nextRunAt && <Time at={nextRunAt} />],
          ['Records', formats.find(([value]) => value === format)?.[1]],
          ['Read with the access of', owner?.email ?? 'No one: its owner left'],
          [
            'Recipients',
            recipients
              .map(({ email, status }) => (status === 'active' ? email : `${email} (unsubscribed)`))
              .join(', '),
          ],
          ['Last problem', lastSlot?.error],
        ]}
      />
      <Deliveries id={id} />
    </>
  );
}

export const SubscriptionScreen = ({ params: { id = '' } }: ScreenProps) => (
  <ObjectPage
    read={useGet('/subscriptions/{id}', { path: { id } })}
    kind="Subscription"
    list="/subscriptions"
    show={(subscription) => ({
      title: subscription.view === null ? 'Subscription' : `${subscription.view.name} by mail`,
      lead: describeSchedule(subscription.schedule, subscription.timezone),
      actions: <Actions subscription={subscription} />,
      children: <SubscriptionDetail subscription={subscription} />,
    })}
  />
);
