// The organization itself, and the sessions of the person who is signed in.

import { useState } from 'preact/hooks';
import { api, type Item } from '../../api.ts';
import { Pending } from '../../parts/detail.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { Field } from '../../parts/form.tsx';
import { ageColumn, Facts, List, listQuery } from '../../parts/list.tsx';
import { Section } from '../../parts/page.tsx';
import { ConfirmButton, OpenButton, RecordForm } from '../../parts/record-form.tsx';
import { Time } from '../../parts/time.tsx';
import { invalidate, useGet } from '../../query.ts';
import { may, organizationId, readSession, sessionState } from '../../session.ts';

type Organization = { readonly id: string; readonly slug: string; readonly name: string };

/** Deleting needs the organization's slug, typed. */
function DeleteOrganization({
  organization: { id, slug, name },
  onClose,
}: {
  organization: Organization;
  onClose: () => void;
}) {
  const [typed, setTyped] = useState('');
  const run = async (): Promise<void> => {
    await api.DELETE('/organizations/{id}', { params: { path: { id }, query: { confirm: typed } } });
    location.assign('/console');
  };
  return (
    <Confirm title={`Delete ${name}`} action="Delete everything" danger run={run} onClose={onClose}>
      <p>
        All synced records, syncs, API versions, keys, views and payments are deleted for all members, running
        syncs are stopped, and the public interface answers 404. Only the audit log is kept. This can't be
        undone.
      </p>
      <Field label={`Type ${slug} to confirm`} value={typed} onChange={setTyped} required />
    </Confirm>
  );
}

const fields = [
  { name: 'name', label: 'Name', required: true },
  {
    name: 'slug',
    label: 'Short name',
    required: true,
    hint: 'Lower-case letters, digits and hyphens. Ids and URLs stay.',
  },
] as const;

/** The tab of the organization: rename, delete. */
export function OrganizationSettings() {
  const path = { id: organizationId() };
  const { data, error, reload } = useGet('/organizations/{id}', { path });
  if (data === undefined) return <Pending error={error} reload={reload} />;
  const { id, name, slug, createdAt } = data;
  const save = async (body: { readonly name: string; readonly slug: string }): Promise<void> => {
    await api.PATCH('/organizations/{id}', { params: { path }, body });
    await Promise.all([invalidate('/organizations/{id} ', '/whoami/organizations'), readSession()]);
  };
  return (
    <>
      {may('organization:update') && (
        <RecordForm label="Save" initial={{ name, slug }} save={save} fields={fields} />
      )}
      <Section title="Facts">
        <Facts
          facts={[
            ['Name', !may('organization:update') && `${name} (${slug})`],
            ['Tenant id', <code key="id">{id}</code>],
            ['Created', <Time key="at" at={createdAt} />],
          ]}
        />
      </Section>
      {may('organization:delete') && (
        <div class="section">
          <OpenButton label="Delete the organization" kind="danger">
            {(close) => <DeleteOrganization organization={data} onClose={close} />}
          </OpenButton>
        </div>
      )}
    </>
  );
}

type Session = Item<'/whoami/sessions'>;

const browsers = ['Edg', 'Firefox', 'Chrome', 'Safari'];
const systems = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS X', 'Linux'];
const commonNames: Readonly<Record<string, string>> = { Edg: 'Edge', 'Mac OS X': 'macOS' };

/** Browser and system of a user agent, as far as its text names them. */
function describeDevice(userAgent: string | null): string {
  const find = (known: readonly string[]): string | undefined =>
    known.find((name) => userAgent?.includes(name));
  const found = [find(browsers), find(systems)].filter((name) => name !== undefined);
  return found.map((name) => commonNames[name] ?? name).join(' on ') || userAgent || 'Unknown';
}

const sessionsPath = '/whoami/sessions';
const refresh = (): Promise<void> => invalidate(sessionsPath);

function SessionAction({ session: { id, current, ip } }: { session: Session }) {
  if (current) return <span class="muted">This session</span>;
  const run = (): Promise<void> =>
    api.DELETE('/whoami/sessions/{id}', { params: { path: { id } } }).then(refresh);
  return (
    <ConfirmButton label="End" kind="link" action="End this session" run={run}>
      The browser at {ip ?? 'an unknown address'} is signed out immediately.
    </ConfirmButton>
  );
}

/** The tab of the person's own sessions. */
export function Sessions() {
  const read = useGet(sessionsPath, { query: listQuery() });
  const others = (read.data?.pagination.total ?? 1) - 1;
  return (
    <Section
      title="Your sessions"
      actions={
        others > 0 && (
          <ConfirmButton
            label="End all other sessions"
            action="End other sessions"
            run={() => api.DELETE(sessionsPath).then(refresh)}
          >
            All sessions of {sessionState.value?.session?.user.email} except this one end immediately:{' '}
            {others} in all.
          </ConfirmButton>
        )
      }
    >
      <List
        label="Sessions"
        read={read}
        columns={[
          {
            title: 'Browser',
            cell: ({ userAgent }) => <span title={userAgent ?? ''}>{describeDevice(userAgent)}</span>,
          },
          { title: 'Address', minor: true, cell: ({ ip }) => ip },
          ageColumn('Signed in', 'createdAt'),
          { title: 'Last used', cell: ({ lastSeenAt }) => <Time at={lastSeenAt} relative /> },
        ]}
        actions={(session) => <SessionAction session={session} />}
      />
    </Section>
  );
}
