// An existing connection: its state, its certificates and their renewal, and its end.
import { Badge } from '../../parts/badge.tsx';
import { StateBadge } from '../../parts/detail.tsx';
import { Facts } from '../../parts/list.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { may } from '../../session.ts';
import { connectionStates } from '../../states.ts';
import { DownloadCertificate } from './certificate-step.tsx';
import { DeleteConnection } from './delete-connection.tsx';
import { ConnectionTest } from './test-step.tsx';
import { type Certificate, type Connection, methodWords, stepAddress } from './words.ts';

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

function Certificates({ certificates }: Connection) {
  const waits = certificates.some(({ certificateId }) => certificateId === null);
  const link = (
    <a class="button" href={stepAddress('certificate')}>
      {waits ? 'Enter the id of the new certificate' : 'Renew or upload again'}
    </a>
  );
  return (
    <Section title="Certificates" actions={may('netsuite:update') && link}>
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

const renderCode = (id: string | undefined) => id && <code>{id}</code>;

/** Secrets are never shown. */
function FactsOf({ accountId, baseUrl, authentication, status, lastTestedAt, credentialHint }: Connection) {
  const { method, clientId, consumerKey, tokenId } = authentication;
  return (
    <Facts
      facts={[
        ['State', <StateBadge key="state" states={connectionStates} state={status} />],
        ['Account', accountId],
        ['Address', baseUrl],
        ['Signs in by', methodWords[method]],
        ['Client id', renderCode(clientId)],
        ['Consumer key', renderCode(consumerKey)],
        ['Token id', renderCode(tokenId)],
        ['Token secret', credentialHint && `ends in ${credentialHint}`],
        ['Last tested', lastTestedAt && <Time at={lastTestedAt} relative />],
      ]}
    />
  );
}

export function ConnectionState({ connection }: { connection: Connection }) {
  const mayUpdate = may('netsuite:update');
  const actions = (
    <>
      {mayUpdate && (
        <a class="button" href={stepAddress('account')}>
          Change account or sign-in
        </a>
      )}
      {may('netsuite:delete') && <DeleteConnection {...connection} />}
    </>
  );
  return (
    <Page title="Connection" actions={actions}>
      <FactsOf {...connection} />
      <Section title="Test">
        {mayUpdate ? (
          <ConnectionTest connection={connection} starts={false} />
        ) : (
          <p>{connection.lastError ?? 'The last test, run or refresh could sign in.'}</p>
        )}
      </Section>
      {connection.authentication.method === 'oauth2' && <Certificates {...connection} />}
    </Page>
  );
}
