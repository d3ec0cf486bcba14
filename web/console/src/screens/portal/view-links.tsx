// The links by which spreadsheets read a view: who made them, whether they are used, and how to end them.
import { useState } from 'preact/hooks';
import { api, type Item } from '../../api.ts';
import { formatNumber } from '../../format.ts';
import { List, listQuery } from '../../parts/list.tsx';
import { Section } from '../../parts/page.tsx';
import { ConfirmButton, DialogButton, RecordForm } from '../../parts/record-form.tsx';
import { Copied, ShownOnce } from '../../parts/shown-once.tsx';
import { Time } from '../../parts/time.tsx';
import { invalidate, useGet } from '../../query.ts';
import { identity, may } from '../../session.ts';
import type { View } from './view-form.tsx';

type Link = Item<'/views/{id}/links'>;
const path = '/views/{id}/links';
const dayMs = 86_400_000;

function NewLink({ view, onClose }: { view: View; onClose: () => void }) {
  const [url, setUrl] = useState('');
  if (url !== '')
    return (
      <ShownOnce
        title="Address for the spreadsheet"
        secret={url}
        details={
          <p>
            Google Sheets: <code>=IMPORTDATA("…")</code>. Excel and Power BI: <em>From Web</em>, without
            signing in. Anyone who has the address reads the records.
          </p>
        }
      >
        <Copied onClose={onClose} />
      </ShownOnce>
    );
  return (
    <RecordForm
      fields={[
        { name: 'name', label: 'Name', required: true, hint: 'Which spreadsheet it is for.' },
        { name: 'day', label: 'Works until', kind: 'date', required: true, path: 'expiresAt' },
      ]}
      initial={{
        name: view.name,
        day: new Date(Date.now() + 90 * dayMs).toLocaleDateString('sv'),
      }}
      label="Create the link"
      save={async ({ name, day }) => {
        const expiresAt = new Date(`${day}T23:59:59`).toISOString();
        const { data } = await api.POST(path, {
          params: { path: { id: view.id } },
          body: { name, expiresAt },
        });
        setUrl(data?.url ?? '');
        await invalidate(path);
      }}
    >
      <p class="fine">
        It reads what the view shows, with masked fields masked, for as long as you may see the view and read
        records.
      </p>
    </RecordForm>
  );
}

const Revoke = ({ view, link }: { view: View; link: Link }) => (
  <ConfirmButton
    label="Revoke"
    kind="link"
    title={`Revoke the link ${link.name}`}
    action="Revoke this link"
    run={() =>
      api
        .DELETE('/views/{id}/links/{linkId}', { params: { path: { id: view.id, linkId: link.id } } })
        .then(() => invalidate(path))
    }
  >
    <p>Spreadsheets that read the view by it get nothing more. What they have read stays there.</p>
  </ConfirmButton>
);

const mayRevoke = ({ creator }: Link): boolean =>
  may('member:update') || identity.value?.user.id === creator.id;

export function ViewLinks({ view }: { view: View }) {
  return (
    <Section
      title="Links for spreadsheets"
      actions={
        may('record:read') && (
          <DialogButton label="New link" title="New link for a spreadsheet">
            {(close) => <NewLink view={view} onClose={close} />}
          </DialogButton>
        )
      }
    >
      <List
        label="Links"
        read={useGet(path, { path: { id: view.id }, query: listQuery() })}
        actions={(link) => mayRevoke(link) && <Revoke view={view} link={link} />}
        empty="No spreadsheet reads this view by a link."
        columns={[
          { title: 'Link', cell: ({ name }) => name },
          { title: 'Created by', minor: true, cell: ({ creator }) => creator.name },
          {
            title: 'Rows',
            minor: true,
            cell: ({ rows }) => (rows.length === 0 ? 'All' : describeRows(rows)),
          },
          { title: 'Works until', cell: ({ expiresAt }) => <Time at={expiresAt} /> },
          { title: 'Last used', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} relative none="Never" /> },
          { title: 'Uses', align: 'end', cell: ({ uses }) => formatNumber(uses) },
        ]}
      />
    </Section>
  );
}

const describeRows = (rows: Link['rows']): string =>
  rows.map(({ field, in: values }) => `${field}: ${values.join(' or ')}`).join('; ');
