// Accepts that fields are missing in the ERP for good: says what becomes of their values and who shows them,
// and asks.
import { useState } from 'preact/hooks';
import { api, type Item } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { Checks } from '../../parts/form.tsx';
import { OpenButton } from '../../parts/record-form.tsx';
import { useGet } from '../../query.ts';
import { may } from '../../session.ts';
import { showRun } from './actions.tsx';
import type { SyncConfig } from './words.ts';

const meanings = {
  unreadable: 'The stored values stay as they are. New records have no value.',
  empty: 'The values become empty in all records.',
} as const;

type Use = Item<'/sync-configs/{id}/drift'>['affects'][number];

/** Where a field is shown. */
export const describeUse = (use: Use): string => {
  if (use.kind === 'portal') return 'the portal';
  return use.kind === 'api-schema'
    ? `${use.version} /${use.endpoint} as ${use.field}`
    : `the view ${use.name}`;
};

function AcceptFields({ sync, onClose }: { sync: SyncConfig; onClose: () => void }) {
  const { id, name, records, staleFields } = sync;
  const [fields, setFields] = useState<readonly string[]>(staleFields.map(({ field }) => field));
  const { data } = useGet('/sync-configs/{id}/drift', { path: { id } });
  const options = staleFields.map(({ field, reason }) => {
    const uses = data?.data.find((drift) => drift.field === field && drift.kind !== 'added')?.affects ?? [];
    return {
      name: field,
      description: `${meanings[reason]}${uses.length === 0 ? '' : ` Shown by ${uses.map(describeUse).join(', ')}.`}`,
    };
  });
  return (
    <Confirm
      title="Accept missing fields"
      action={`Accept ${formatCount(fields.length, 'missing field')} and run`}
      run={async () =>
        showRun(
          await api.POST('/sync-configs/{id}/accept-missing-fields', {
            params: { path: { id } },
            body: { fields: [...fields] },
          }),
        )
      }
      onClose={onClose}
    >
      <p>
        A run starts at once. It and later runs of {name} succeed without these fields. This concerns{' '}
        {formatCount(records, 'stored record')}. When the ERP has a field again, it is read again.
      </p>
      <Checks label="Missing fields" options={options} chosen={fields} onChange={setFields} />
    </Confirm>
  );
}

/** Nothing where no field is missing, or the person may not accept it. */
export const AcceptButton = ({ sync }: { sync: SyncConfig }) =>
  sync.staleFields.length > 0 && may('sync:update') ? (
    <OpenButton label="Accept as missing…">
      {(close) => <AcceptFields sync={sync} onClose={close} />}
    </OpenButton>
  ) : null;
