// How a version ends: deprecated with a sunset date, retired, and restored. Callers are shown before each.
import { useState } from 'preact/hooks';
import { api } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { Pending } from '../../parts/detail.tsx';
import { Field as Input } from '../../parts/form.tsx';
import { ConfirmButton } from '../../parts/record-form.tsx';
import { invalidate, useGet } from '../../query.ts';
import { may } from '../../session.ts';
import { formatLastDay } from './callers.tsx';
import type { Version } from './use-draft.ts';

const readAgain = (): Promise<void> => invalidate('/api-schema', '/overview');

export const Endings = ({ version }: { version: Version }) => (
  <>
    {version.status !== 'retired' && may('api-schema:publish') && <Deprecate version={version} />}
    {may('api-schema:retire') && <Retire version={version} />}
  </>
);

const maxListed = 10;

/** Who used the version lately. */
function CallersBefore({ id }: { id: string }) {
  const mayRead = may('api-key:read');
  const query = { page: 1, pageSize: maxListed };
  const { data, error, reload } = useGet(mayRead ? '/api-schema/{id}/callers' : null, {
    path: { id },
    query,
  });
  if (!mayRead)
    return (
      <p class="note warn">
        You may not see which API keys use it: ask someone with the permission api-key:read.
      </p>
    );
  if (data === undefined) return <Pending error={error} reload={reload} />;
  const { total } = data.pagination;
  if (total === 0) return <p class="note good">No API key used it in the last 30 days.</p>;
  return (
    <div class="note warn">
      <p>
        <strong>{formatCount(total, 'API key')} used it in the last 30 days:</strong>
      </p>
      <ul>
        {data.data.map((caller) => (
          <li key={caller.apiKeyId}>
            {caller.name}: {formatCount(caller.requests, 'request')}, last on {formatLastDay(caller)}
          </li>
        ))}
        {total > maxListed && <li>and {total - maxListed} more</li>}
      </ul>
    </div>
  );
}

/** The day of an instant as an input has it, in the zone of the person. */
const toDay = (instant: string): string => new Date(instant).toLocaleDateString('sv');
const inWords = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });

/** The sunset is the end of the chosen day where the person is. */
function Deprecate({ version: { id, version, sunsetAt, status } }: { version: Version }) {
  const [day, setDay] = useState(sunsetAt === null ? '' : toDay(sunsetAt));
  // Of a day that is none, the service says so.
  const end = /^\d{4}-/.test(day) ? new Date(`${day}T23:59:59`) : undefined;
  const isDeprecated = status === 'deprecated';
  const run = async (): Promise<void> => {
    await api.POST('/api-schema/{id}/deprecate', {
      params: { path: { id } },
      body: { sunsetAt: end?.toISOString() ?? (day || null) },
    });
    await readAgain();
  };
  return (
    <ConfirmButton
      label={isDeprecated ? 'Change sunset' : 'Deprecate'}
      action={isDeprecated ? 'Change sunset' : `Deprecate ${version}`}
      danger={false}
      run={run}
    >
      <CallersBefore id={id} />
      <p>
        {version} keeps working until you retire it. Its responses carry the header Deprecation from now on,
        and Sunset if you enter a date.
      </p>
      <Input
        label="Sunset date"
        type="date"
        value={day}
        onChange={setDay}
        hint={
          end
            ? `Ends ${inWords.format(end)} (${end.toISOString()}).`
            : 'The last day on which callers can rely on it.'
        }
      />
    </ConfirmButton>
  );
}

/** Retires a version, or restores a retired one. */
function Retire({ version: { id, version, status } }: { version: Version }) {
  const undo = status === 'retired';
  const label = undo ? 'Restore' : 'Retire';
  const run = async (): Promise<void> => {
    await api.POST('/api-schema/{id}/retire', { params: { path: { id } }, body: { undo } });
    await readAgain();
  };
  return (
    <ConfirmButton
      label={label}
      action={`${label} ${version}`}
      kind={undo ? '' : 'danger'}
      danger={!undo}
      run={run}
    >
      {!undo && <CallersBefore id={id} />}
      <p>
        {undo
          ? `${version} answers its callers again, as a deprecated version. More than a day after it was retired, its reads are slower until its indexes are built.`
          : `Every read of ${version} is answered with 410 Gone from now on. You can restore it; after more than a day its indexes are built again first.`}
      </p>
    </ConfirmButton>
  );
}
