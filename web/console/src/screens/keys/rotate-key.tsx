import { useState } from 'preact/hooks';
import { type Answer, api } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { RecordForm } from '../../parts/record-form.tsx';
import { Copied } from '../../parts/shown-once.tsx';
import { Time } from '../../parts/time.tsx';
import { invalidate } from '../../query.ts';
import type { Key } from './scope-words.ts';
import { Secret } from './secret.tsx';

const fields = [
  {
    name: 'grace',
    label: 'Grace period of the old secret',
    options: [
      ['0', 'None: the old secret and its tokens end now'],
      ['3600', '1 hour'],
      ['86400', '1 day'],
      ['604800', '7 days'],
      ['2592000', '30 days'],
    ],
    hint: 'Both secrets work until then. Tokens end with their secret.',
  },
] as const;

/** Makes a new secret; the old one works until the end of the grace period. */
export function RotateKey({ apiKey, onClose }: { apiKey: Key; onClose: () => void }) {
  const [rotated, setRotated] = useState<Answer<'/api-keys/{id}/rotate', 'post'>>();
  if (rotated !== undefined)
    return (
      <Secret
        title="New secret"
        secret={rotated.secret}
        note={
          rotated.graceEndsAt === null ? (
            'The old secret and its tokens have ended.'
          ) : (
            <>
              The old secret works until <Time at={rotated.graceEndsAt} />.
            </>
          )
        }
      >
        <Copied onClose={onClose} />
      </Secret>
    );
  return (
    <RecordForm
      fields={fields}
      initial={{ grace: '86400' }}
      label="Rotate the key"
      save={async ({ grace }) => {
        const params = { path: { id: apiKey.id } };
        setRotated(
          (await api.POST('/api-keys/{id}/rotate', { params, body: { gracePeriodSeconds: Number(grace) } }))
            .data,
        );
        await invalidate('/api-keys');
      }}
    >
      <p>
        The key then acts for you. It made {formatCount(apiKey.requestsLast7Days, 'request')} in the last 7
        days.
      </p>
      {apiKey.graceEndsAt !== null && (
        <p class="note warn">A grace period is running: the secret before the current one ends now.</p>
      )}
    </RecordForm>
  );
}
