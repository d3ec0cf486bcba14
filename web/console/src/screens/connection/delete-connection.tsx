// Ends the connection, and with it all synced records if the person types the organization's slug. Only the
// connection called `netsuite` can be deleted without its records.
import { useState } from 'preact/hooks';
import { api } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { Check, Field } from '../../parts/form.tsx';
import { ConfirmButton } from '../../parts/record-form.tsx';
import { prefixOf } from '../../parts/record-type.ts';
import { expire, invalidate, useGet } from '../../query.ts';
import { go } from '../../router.ts';
import { identity, may } from '../../session.ts';
import { type Connection, listAddress } from './words.ts';

/** Syncs of the connection and their records; nothing where the person can't see all of them. */
function useSynced({ recordTypePrefix }: Connection) {
  const { data } = useGet(may('sync:read') ? '/sync-configs' : null, { query: { pageSize: 100 } });
  if (data === undefined || data.pagination.totalPages > 1) return undefined;
  const own = data.data.filter(({ recordType }) => prefixOf(recordType) === recordTypePrefix);
  return { syncs: own.length, records: own.reduce((sum, { records }) => sum + records, 0) };
}

/** What ends, in numbers. */
function Effects({ connection, purges }: { connection: Connection; purges: boolean }) {
  const { name, certificates } = connection;
  const data = useSynced(connection);
  const syncs = data ? formatCount(data.syncs, 'sync') : 'All syncs';
  const records = data ? formatCount(data.records, 'synced record') : 'The synced records';
  const texts = [
    data?.syncs !== 0 && `${syncs} of ${name} stop at once, until there is a connection again.`,
    certificates.length > 0
      ? `${formatCount(certificates.length, 'certificate')} and the private keys are deleted. To connect again, upload a new one.`
      : 'The stored credentials are deleted. To connect again, enter them again.',
    'The list of record types is deleted, until it is read again.',
    data?.records !== 0 &&
      (purges
        ? `${records} are deleted. This can't be undone.`
        : `${records} stay, and published versions keep serving them without further changes.`),
  ];
  return <ul class="bullets">{texts.map((text) => text && <li key={text}>{text}</li>)}</ul>;
}

export function DeleteConnection(connection: Connection) {
  const { name } = connection;
  const isNetsuite = name === 'netsuite';
  const [purges, setPurges] = useState(!isNetsuite);
  const [typed, setTyped] = useState('');
  const run = async (): Promise<void> => {
    const slug = typed.trim();
    const purge = purges && (isNetsuite || slug !== '') ? { purge: slug } : {};
    // This path leaves the records to published versions, which the other one refuses.
    if (isNetsuite) await api.DELETE('/netsuite/connection', { params: { query: purge } });
    else {
      const params = { path: { connection: name }, query: purge };
      await api.DELETE('/connections/{connection}', { params });
    }
    // Without the connection, reading it fails.
    expire('/connections');
    await invalidate('/connections all', '/sync-configs', '/overview');
    go(listAddress);
  };
  return (
    <ConfirmButton
      label="Delete"
      kind="danger"
      title={`Delete the connection ${name}?`}
      action="Delete the connection"
      run={run}
    >
      <Effects {...{ connection, purges }} />
      {isNetsuite && (
        <Check
          label="Also delete all synced records"
          checked={purges}
          onChange={setPurges}
          hint="Published versions then have no data, and another account can be connected. This can't be undone."
        />
      )}
      {purges && (
        <Field
          label={`Type ${identity.value?.organization?.slug} to confirm`}
          value={typed}
          onChange={setTyped}
          hint={!isNetsuite && 'Not needed while the connection has no synced records.'}
        />
      )}
    </ConfirmButton>
  );
}
