// One API key: what it may do, its secrets, its tokens and its usage.

import { api } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { ObjectPage } from '../../parts/detail.tsx';
import { ConfirmButton, DialogButton } from '../../parts/record-form.tsx';
import { Time } from '../../parts/time.tsx';
import { invalidate, useGet } from '../../query.ts';
import type { ScreenProps } from '../../router.ts';
import { may } from '../../session.ts';
import { KeyFacts } from './key-facts.tsx';
import { KeyForm } from './key-form.tsx';
import { KeyStatus } from './keys.tsx';
import { RotateKey } from './rotate-key.tsx';
import { type Key, scopeWords } from './scope-words.ts';
import { TokenSection } from './tokens.tsx';
import { UsageSection } from './usage.tsx';

export function KeyScreen({ params: { id = '' } }: ScreenProps) {
  const read = useGet('/api-keys/{id}', { path: { id } });
  const show = (key: Key) => ({
    title: key.name,
    lead: scopeWords(key.scopes),
    actions: <KeyActions apiKey={key} />,
    children: (
      <>
        <SecretNotes apiKey={key} />
        <KeyFacts apiKey={key} />
        <UsageSection id={id} />
        {key.status === 'active' && may('api-key:update') && <TokenSection apiKey={key} />}
      </>
    ),
  });
  return <ObjectPage read={read} kind="API key" list="/keys" show={show} />;
}

const readAgain = (): Promise<void> => invalidate('/api-keys');

function KeyActions({ apiKey }: { apiKey: Key }) {
  const { id, name, status, secretEndsAt } = apiKey;
  const params = { path: { id } };
  const mayUpdate = status !== 'revoked' && may('api-key:update');
  return (
    <>
      <KeyStatus status={status} />
      {mayUpdate && (
        <DialogButton label="Edit" title={`Edit ${name}`}>
          {(close) => (
            <KeyForm
              apiKey={apiKey}
              label="Save"
              save={(body) => api.PATCH('/api-keys/{id}', { params, body }).then(readAgain).then(close)}
            />
          )}
        </DialogButton>
      )}
      {mayUpdate && status === 'active' && secretEndsAt !== null && (
        <ConfirmButton
          label="Keep the secret"
          title={`Keep the secret of ${name}`}
          danger={false}
          run={() => api.POST('/api-keys/{id}/keep-secret', { params }).then(readAgain)}
        >
          <p>
            The secret then has no end, although {formerHolder(apiKey)} may know it. Rotate the key instead
            where you can.
          </p>
        </ConfirmButton>
      )}
      {mayUpdate && (
        <DialogButton label="Rotate" title={`Rotate ${name}`}>
          {(close) => <RotateKey apiKey={apiKey} onClose={close} />}
        </DialogButton>
      )}
      {status !== 'revoked' && may('api-key:delete') && <Revoke apiKey={apiKey} />}
    </>
  );
}

const Revoke = ({ apiKey: { id, name, requestsLast7Days, lastUsedAt } }: { apiKey: Key }) => (
  <ConfirmButton
    label="Revoke"
    kind="danger"
    title={`Revoke ${name}`}
    action="Revoke this key"
    run={() => api.DELETE('/api-keys/{id}', { params: { path: { id } } }).then(readAgain)}
  >
    <p>
      It made {formatCount(requestsLast7Days, 'request')} in the last 7 days
      {lastUsedAt !== null && (
        <>
          , the last one <Time at={lastUsedAt} relative />
        </>
      )}
      . Within a second, every request with its secrets or its tokens is answered 401. A revoked key can't be
      used again.
    </p>
  </ConfirmButton>
);

const formerHolder = ({ transferredFrom }: Key): string => transferredFrom ?? 'a former member';

/** What needs attention: two secrets at once, or one that ends. */
const SecretNotes = ({ apiKey }: { apiKey: Key }) => (
  <>
    {apiKey.graceEndsAt !== null && (
      <p class="note warn">
        Two secrets work at the moment: the one before the rotation until <Time at={apiKey.graceEndsAt} />.
        Rotate again without a grace period to end it now.
      </p>
    )}
    {apiKey.secretEndsAt !== null && apiKey.status === 'active' && (
      <p class="note warn">
        The key was transferred from {formerHolder(apiKey)}, who may know its secret. The secret ends{' '}
        <Time at={apiKey.secretEndsAt} relative />. Rotate the key before, or keep the secret.
      </p>
    )}
  </>
);
