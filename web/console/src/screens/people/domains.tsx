// Domains whose control the organization has proved by a DNS record.
import { api, type Item } from '../../api.ts';
import { Badge } from '../../parts/badge.tsx';
import { Copy } from '../../parts/copy.tsx';
import { DeleteButton, type States, stateColumn, stateFilter } from '../../parts/detail.tsx';
import { ageColumn, List, listQuery, searchFilter } from '../../parts/list.tsx';
import { Page } from '../../parts/page.tsx';
import { ActionButton, DialogButton, FormButton } from '../../parts/record-form.tsx';
import { Time } from '../../parts/time.tsx';
import { invalidate, useGet } from '../../query.ts';
import { may, organizationId } from '../../session.ts';

type Domain = Item<'/organizations/{id}/domains'>;
const domainsPath = '/organizations/{id}/domains';
const domainPath = '/organizations/{id}/domains/{domainId}';

const states: States<Domain['status']> = {
  pending: ['busy', 'Waiting for DNS'],
  verified: ['good', 'Verified'],
  failed: ['bad', 'Not found'],
};
const refresh = (): Promise<void> => invalidate(domainsPath);
const toParams = ({ id }: Domain) => ({ path: { id: organizationId(), domainId: id } });

/** What to set in the DNS, and a button that looks it up. */
function Verification({ domain }: { domain: Domain }) {
  const { hostname, verification, lastCheckedAt, lastError } = domain;
  return (
    <div class="stack">
      <p>
        Set this TXT record at the provider of your DNS. Other TXT records with the same name may stay. For
        the portal, a CNAME record of {hostname} leads to this service as well; make the domain primary once
        it is verified.
      </p>
      {(['name', 'value'] as const).map((part) => (
        <div key={part}>
          <p class="fine">{part === 'name' ? 'Name' : 'Value'}</p>
          <Copy text={verification[part]} label={`Copy ${part}`} />
        </div>
      ))}
      <p class="fine">
        The service looks it up every minute during the first hour, then every 15 minutes for a week, and once
        a day after the domain was verified: leave the record in the DNS.
      </p>
      <p role="status">
        {lastCheckedAt !== null && (
          <>
            Last looked up <Time at={lastCheckedAt} relative />: {lastError ?? 'found.'}
          </>
        )}
      </p>
      {may('domain:update') && (
        <div>
          <ActionButton
            label="Look it up now"
            kind="primary"
            run={() =>
              api
                .POST('/organizations/{id}/domains/{domainId}/verify', { params: toParams(domain) })
                .then(refresh)
            }
          />
        </div>
      )}
    </div>
  );
}

function DomainActions({ domain }: { domain: Domain }) {
  const { status, hostname, isPrimary } = domain;
  const params = toParams(domain);
  const isVerified = status === 'verified';
  return (
    <>
      {(!isVerified || domain.lastError !== null) && (
        <DialogButton label="DNS record" kind="link" title={`Verify ${hostname}`}>
          {() => <Verification domain={domain} />}
        </DialogButton>
      )}
      {isVerified && may('domain:update') && (
        <ActionButton
          label={isPrimary ? 'Not primary any more' : 'Make primary'}
          kind="link"
          run={() => api.PATCH(domainPath, { params, body: { isPrimary: !isPrimary } }).then(refresh)}
        />
      )}
      {may('domain:delete') && (
        <DeleteButton
          what="domain"
          name={hostname}
          run={() => api.DELETE(domainPath, { params }).then(refresh)}
        >
          {isVerified
            ? `${isPrimary ? 'The portal is no longer served at it, checkouts' : 'Checkouts'} can no longer send payers back to it`
            : 'The service stops looking for its DNS record'}
          , and another organization can verify it.
        </DeleteButton>
      )}
    </>
  );
}

const AddButton = () => (
  <FormButton
    label="Add a domain"
    kind="primary"
    action="Add domain"
    fields={[{ name: 'hostname', label: 'Hostname', required: true, hint: 'For example portal.acme.com' }]}
    save={(body) => api.POST(domainsPath, { params: { path: { id: organizationId() } }, body }).then(refresh)}
  />
);

export function Domains() {
  const query = listQuery<{ q: string; status: Domain['status'] }>('q', 'status');
  const read = useGet(domainsPath, { path: { id: organizationId() }, query });
  return (
    <Page
      title="Domains"
      lead="Your portal is served at the primary domain, and payers return to your domains. A DNS record proves that a domain is yours."
      actions={may('domain:create') && <AddButton />}
    >
      <List
        label="Domains"
        read={read}
        filters={[searchFilter('Search domains'), stateFilter(states)]}
        next="Add the domain of your portal, then set the DNS record that it shows."
        columns={[
          {
            title: 'Domain',
            cell: ({ hostname, status, isPrimary, lastError, missingSince }) => (
              <>
                {hostname}{' '}
                {isPrimary && (
                  <Badge>{status === 'verified' ? 'Primary, serves the portal' : 'Primary'}</Badge>
                )}
                <span class="fine">{lastError}</span>
                {missingSince !== null && (
                  <span class="fine">
                    {' '}
                    Missing since <Time at={missingSince} />; after seven days the domain fails.
                  </span>
                )}
              </>
            ),
          },
          stateColumn(states),
          ageColumn('Verified', 'verifiedAt'),
        ]}
        actions={(domain) => <DomainActions domain={domain} />}
      />
    </Page>
  );
}
