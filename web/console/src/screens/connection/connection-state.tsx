// An existing connection: its state, its certificates and their renewal, and its end.
import { Badge } from '../../parts/badge.tsx';
import { StateBadge } from '../../parts/detail.tsx';
import { Facts } from '../../parts/list.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { mayConnection } from '../../session.ts';
import { connectionStates } from '../../states.ts';
import { DownloadCertificate } from './certificate-step.tsx';
import { DeleteConnection } from './delete-connection.tsx';
import { listKindFacts, toKindValues } from './kind-values.ts';
import { ConnectionTest } from './test-step.tsx';
import {
  addressOf,
  type Certificate,
  type Connection,
  findKind,
  listAddress,
  type Netsuite,
  titleOf,
} from './words.ts';

const dayMs = 86_400_000;
/** The service warns by mail from here on. */
const warnDays = 60;
const urgentDays = 14;

function Expiry({ notAfter }: Certificate) {
  const days = Math.floor((Date.parse(notAfter) - Date.now()) / dayMs);
  return (
    <>
      <Time at={notAfter} />{' '}
      {days < warnDays && (
        <Badge tone={days < urgentDays ? 'bad' : 'warn'}>{days < 0 ? 'Expired' : `${days} days left`}</Badge>
      )}
    </>
  );
}

const columns: readonly Column<Certificate>[] = [
  {
    title: 'Certificate id',
    cell: (certificate) => (
      <>
        {certificate.certificateId === null ? (
          `Certificate ${certificate.slot}`
        ) : (
          <code>{certificate.certificateId}</code>
        )}
        <div>
          <DownloadCertificate certificate={certificate} />
        </div>
      </>
    ),
  },
  {
    title: 'State',
    cell: ({ active, certificateId }) =>
      active ? (
        <Badge tone="good">Active</Badge>
      ) : (
        <Badge>{certificateId === null ? 'Waits for its id' : 'Former'}</Badge>
      ),
  },
  { title: 'Valid until', cell: Expiry },
];

function Certificates({ name, certificates }: Netsuite) {
  const waits = certificates.some(({ certificateId }) => certificateId === null);
  const link = (
    <a class="button" href={addressOf(name, 'certificate')}>
      {waits ? 'Enter the id of the new certificate' : 'Renew or upload again'}
    </a>
  );
  return (
    <Section title="Certificates" actions={mayConnection('update', name) && link}>
      <Table
        label="List of certificates"
        columns={columns}
        rows={certificates}
        rowKey={({ slot }) => String(slot)}
      />
      <p class="fine cx-under">
        Alert recipients of the syncs get a mail 60, 30 and 14 days before the active certificate expires.
      </p>
    </Section>
  );
}

function listSettings({ kind, settings }: Connection) {
  const fields = findKind(kind)?.fields ?? [];
  return listKindFacts(fields, toKindValues(fields, settings));
}

/** Secrets are never shown. */
function FactsOf({ connection }: { connection: Connection }) {
  const { status, lastTestedAt, credentialHint, recordTypePrefix } = connection;
  return (
    <Facts
      facts={[
        ['State', <StateBadge key="state" states={connectionStates} state={status} />],
        ...listSettings(connection),
        ['Secret', credentialHint && `ends in ${credentialHint}`],
        ['Record types', recordTypePrefix && `Their names begin with ${recordTypePrefix}`],
        ['Last tested', lastTestedAt && <Time at={lastTestedAt} relative />],
      ]}
    />
  );
}

export function ConnectionState({ connection }: { connection: Connection }) {
  const { name } = connection;
  const mayUpdate = mayConnection('update', name);
  const actions = (
    <>
      {mayUpdate && (
        <a class="button" href={addressOf(name, 'settings')}>
          Change settings
        </a>
      )}
      {mayConnection('delete', name) && <DeleteConnection {...connection} />}
    </>
  );
  return (
    <Page
      title={name}
      lead={titleOf(connection)}
      actions={actions}
      above={[{ to: listAddress, title: 'Connections' }]}
    >
      <FactsOf connection={connection} />
      <Section title="Test">
        {mayUpdate ? (
          <ConnectionTest connection={connection} starts={false} />
        ) : (
          <p>{connection.lastError ?? 'The last test, run or refresh could sign in.'}</p>
        )}
      </Section>
      {connection.kind === 'netsuite' && connection.settings.authentication.method === 'oauth2' && (
        <Certificates {...connection} />
      )}
    </Page>
  );
}
