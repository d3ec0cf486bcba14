import { useState } from 'preact/hooks';
import { type Answer, api } from '../../api.ts';
import { type FieldSpec, RecordForm, splitList } from '../../parts/record-form.tsx';
import { invalidate, useGet } from '../../query.ts';
import { base } from '../../router.ts';
import { may } from '../../session.ts';
import { filterLiving, listResources, useReadVersions } from '../../versions.ts';
import { type EventType, eventPermissions, type Webhook } from './words.ts';

type MadeWebhook = Answer<'/webhooks', 'post'>;
type Values = Readonly<
  Record<
    'url' | 'description' | 'events' | 'version' | 'resources' | 'keyId' | 'include' | 'signature',
    string
  >
>;

const follows = ({ events }: Pick<Values, 'events'>): boolean =>
  splitList(events).includes('records.changed');

/** The body of a request. */
const toBody = (values: Values) => ({
  url: values.url,
  description: values.description,
  events: splitList(values.events) as EventType[],
  version: (follows(values) && values.version) || null,
  resources: follows(values) ? splitList(values.resources) : [],
  keyId: values.keyId,
  include: follows(values) && values.include === 'true' ? ('records' as const) : ('none' as const),
});

const toValues = ({
  url,
  description,
  events,
  version,
  resources,
  keyId,
  include,
}: Webhook): Partial<Values> => ({
  ...{ url, description, events: events.join(), resources: resources.join(), keyId },
  ...(version !== null && { version }),
  include: include === 'records' ? 'true' : '',
});

/** Active keys, and that of the webhook, which may have ended. */
function useKeys(webhook: Webhook | undefined): readonly (readonly [string, string])[] | undefined {
  const query = { status: 'active' as const, pageSize: 100 };
  const read = useGet(may('api-key:read') ? '/api-keys' : null, { query });
  if (may('api-key:read') && read.data === undefined) return undefined;
  const keys = (read.data?.data ?? []).map(({ id, name }) => [id, name] as const);
  const isOther = webhook !== undefined && !keys.some(([id]) => id === webhook.keyId);
  return isOther ? [[webhook.keyId, 'The present key'], ...keys] : keys;
}

const signatures: FieldSpec<'signature'> = {
  name: 'signature',
  label: 'Signature',
  options: [
    ['v1', 'A shared secret (HMAC-SHA256)'],
    ['v1a', 'A key pair (ed25519): the receiver gets the public key'],
  ],
};

type Choices = Readonly<Record<'versions' | 'resources', readonly string[]>> & {
  readonly keys: readonly (readonly [string, string])[];
};

const createFields = ({ versions, resources, keys }: Choices): FieldSpec<keyof Values>[] => [
  { name: 'url', label: 'Address', required: true, hint: 'An https address that answers within 15 seconds' },
  { name: 'description', label: 'Description' },
  {
    name: 'events',
    label: 'Events',
    choices: Object.entries(eventPermissions).flatMap(([name, permission]) =>
      may(permission) ? [name] : [],
    ),
  },
  {
    name: 'version',
    label: 'Version',
    options: versions.map((name) => [name, name] as const),
    hint: 'Whose changed records are reported',
    when: follows,
  },
  { name: 'resources', label: 'Resources', all: 'All that the key reads', choices: resources, when: follows },
  {
    name: 'include',
    kind: 'check',
    label: 'The first changes in each message',
    hint: 'Otherwise a message says only where to read them.',
    when: follows,
  },
  {
    name: 'keyId',
    label: 'API key',
    options: keys,
    hint: 'The webhook reads what this key reads, and ends with it.',
  },
];

async function save(webhook: Webhook | undefined, values: Values): Promise<MadeWebhook | undefined> {
  const body = toBody(values);
  const request =
    webhook === undefined
      ? api.POST('/webhooks', { body: { ...body, signature: values.signature as 'v1' } })
      : api
          .PATCH('/webhooks/{id}', { params: { path: { id: webhook.id } }, body })
          .then(() => ({ data: undefined }));
  const { data } = await request;
  await invalidate('/webhooks');
  return data;
}

type WebhookFormProps = { webhook?: Webhook; onSaved: (made: MadeWebhook | undefined) => void };

/** Makes a webhook, or changes `webhook`. */
export function WebhookForm({ webhook, onSaved }: WebhookFormProps) {
  const known = useReadVersions();
  const keys = useKeys(webhook);
  const [version, setVersion] = useState(webhook?.version ?? '');
  if (keys === undefined || known === undefined) return null;
  if (keys.length === 0)
    return (
      <p class="muted">
        A webhook reads with the scopes of an API key. <a href={`${base}/keys/new`}>Create one first.</a>
      </p>
    );
  const versions = filterLiving(known).map((one) => one.version);
  const resources = listResources(filterLiving(known, [version || (versions[0] ?? '')]));
  const fields = createFields({ versions, resources, keys });
  return (
    <RecordForm
      fields={webhook === undefined ? [...fields, signatures] : fields}
      initial={webhook === undefined ? { events: 'records.changed' } : toValues(webhook)}
      label={webhook === undefined ? 'Create the webhook' : 'Save'}
      onChange={(values) => setVersion(values.version)}
      save={async (values) => onSaved(await save(webhook, values))}
    />
  );
}
