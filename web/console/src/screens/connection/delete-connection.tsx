// Deletes the connection, and with it all synced records if the person types the organization's slug.
import { useState } from 'preact/hooks';
import { api } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { Check, Field } from '../../parts/form.tsx';
import { ConfirmButton } from '../../parts/record-form.tsx';
import { expire, invalidate, useGet } from '../../query.ts';
import { base, go } from '../../router.ts';
import { identity, may } from '../../session.ts';
import type { Connection } from './words.ts';

/** What ends, in numbers. */
function Effects({ certificates, accountId }: Connection) {
  const { data } = useGet(may('sync:read') ? '/sync-configs' : null, { query: { pageSize: 1 } });
  const records = identity.value?.metrics?.storage.records;
  const syncs = data?.pagination.total;
  const synced = records === undefined ? 'The synced records' : formatCount(records, 'synced record');
  const texts = [
    syncs !== 0 &&
      `${syncs === undefined ? 'All syncs' : formatCount(syncs, 'sync')} of account ${accountId} stop at once, until there is a connection again.`,
    certificates.length > 0
      ? `${formatCount(certificates.length, 'certificate')} and the private keys are deleted. To connect again, upload a new one.`
      : 'The stored credentials are deleted. To connect again, enter them again.',
    'The list of record types is deleted, until it is read again.',
    records !== 0 && `${synced} stay, and published versions keep serving them without further changes.`,
  ];
  return <ul class="bullets">{texts.map((text) => text && <li key={text}>{text}</li>)}</ul>;
}

export function DeleteConnection(connection: Connection) {
  const [purges, setPurges] = useState(false);
  const [typed, setTyped] = useState('');
  const run = async (): Promise<void> => {
    await api.DELETE('/netsuite/connection', { params: { query: purges ? { purge: typed.trim() } : {} } });
    // Without a connection, reading it fails.
    expire('/netsuite');
    await invalidate('/sync-configs', '/overview');
    go(`${base}/connection`);
  };
  return (
    <ConfirmButton
      label="Delete"
      kind="danger"
      title="Delete the connection?"
      action="Delete the connection"
      run={run}
    >
      <Effects {...connection} />
      <Check
        label="Also delete all synced records"
        checked={purges}
        onChange={setPurges}
        hint="Published versions then have no data, and another account can be connected. This can't be undone."
      />
      {purges && (
        <Field
          label={`Type ${identity.value?.organization?.slug} to confirm`}
          value={typed}
          onChange={setTyped}
        />
      )}
    </ConfirmButton>
  );
}
