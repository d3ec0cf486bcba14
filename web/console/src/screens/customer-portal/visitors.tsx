// Visitors of the portal: addresses with customers by hand, blocked ones, and those that signed in.
import { api, type Item } from '../../api.ts';
import { formatNumber } from '../../format.ts';
import { DeleteButton, WordBadge } from '../../parts/detail.tsx';
import { ageColumn, List, listQuery, searchFilter, selectFilter } from '../../parts/list.tsx';
import { Page } from '../../parts/page.tsx';
import { ActionButton, ConfirmButton, FormButton, splitList } from '../../parts/record-form.tsx';
import { invalidate, useGet } from '../../query.ts';
import { base } from '../../router.ts';
import { may } from '../../session.ts';
import { useAccess } from './data.ts';
import { Reach } from './figures.tsx';
import { InviteButton } from './invite.tsx';
import { LookUpButton } from './look-up.tsx';
import { maySeeAs } from './see-as.tsx';

type Visitor = Item<'/portal/visitors'>;

const visitorsPath = '/portal/visitors';
const refresh = (): Promise<void> => invalidate(visitorsPath);
const toParams = ({ id }: Visitor) => ({ path: { id } });

const customersField = {
  name: 'customers',
  label: 'Customers by hand',
  hint: 'Ids of customers in the ERP, separated by commas: those that the ERP does not name for the address.',
} as const;

/** Blocking is for an address that the ERP has; an entry without customers is there for that alone. */
const AddButton = () => (
  <FormButton
    label="Add a visitor"
    action="Add visitor"
    fields={[
      { name: 'email', label: 'Address', kind: 'email', required: true },
      customersField,
      {
        name: 'blocked',
        label: 'Blocked',
        kind: 'check',
        hint: 'The address sees nothing, whatever the ERP says.',
      },
    ]}
    save={({ email, customers, blocked }) =>
      api
        .POST(visitorsPath, { body: { email, customers: splitList(customers), blocked: blocked === 'true' } })
        .then(refresh)
    }
  />
);

const setBlocked = (visitor: Visitor, blocked: boolean) =>
  api.PATCH('/portal/visitors/{id}', { params: toParams(visitor), body: { blocked } }).then(refresh);

function ChangeActions({ visitor }: { visitor: Visitor }) {
  const { email, customers, blocked } = visitor;
  return (
    <>
      <FormButton
        label="Customers"
        kind="link"
        title={`Customers of ${email}`}
        action="Save customers"
        fields={[customersField]}
        initial={{ customers: customers.join(', ') }}
        save={(values) =>
          api
            .PATCH('/portal/visitors/{id}', {
              params: toParams(visitor),
              body: { customers: splitList(values.customers) },
            })
            .then(refresh)
        }
      />
      {blocked ? (
        <ActionButton label="Unblock" about={email} kind="link" run={() => setBlocked(visitor, false)} />
      ) : (
        <ConfirmButton
          label="Block"
          kind="link"
          title={`Block ${email}`}
          action="Block this address"
          run={() => setBlocked(visitor, true)}
        >
          The address sees nothing from its next request on, whatever the ERP says, and gets no code.
        </ConfirmButton>
      )}
    </>
  );
}

const VisitorActions = ({ visitor }: { visitor: Visitor }) => (
  <>
    {maySeeAs() && !visitor.blocked && (
      <a href={`${base}/portal?as=${encodeURIComponent(visitor.email)}`}>See as</a>
    )}
    {may('portal:update') && <ChangeActions visitor={visitor} />}
    {may('portal:delete') && (
      <DeleteButton
        what="entry"
        name={visitor.email}
        run={() => api.DELETE('/portal/visitors/{id}', { params: toParams(visitor) }).then(refresh)}
      >
        Forgets the customers by hand{visitor.blocked && ' and the block'}. An address that the ERP has stays
        a visitor.
      </DeleteButton>
    )}
  </>
);

const blockedFilter = selectFilter('Blocked', 'blocked', 'Blocked or not', [
  ['true', 'Blocked'],
  ['false', 'Not blocked'],
]);

export function Visitors() {
  const { blocked, ...query } = listQuery<{ q: string; blocked: string }>('q', 'blocked');
  const read = useGet(visitorsPath, {
    query: { ...query, ...(blocked !== undefined && { blocked: blocked === 'true' }) },
  });
  const access = useAccess().data;
  const isOn = access?.status === 'on';
  return (
    <Page
      title="Visitors"
      lead="Everyone whose address the ERP has is a visitor. Here are those of whom more is known."
      actions={
        <>
          {may('record:read') && <LookUpButton />}
          {may('portal:create') && <AddButton />}
          {may('portal:create') && may('record:read') && isOn && <InviteButton />}
        </>
      }
    >
      <List
        label="Visitors"
        read={read}
        filters={[searchFilter('Search addresses'), blockedFilter]}
        empty="No one has signed in yet, and no address was added or blocked."
        columns={[
          {
            title: 'Address',
            cell: ({ email, blocked: isBlocked }) => (
              <>
                {email} {isBlocked && <WordBadge state={['bad', 'Blocked']} />}
              </>
            ),
          },
          { title: 'Customers by hand', minor: true, cell: ({ customers }) => customers.join(', ') },
          {
            title: 'Read in 30 days',
            minor: true,
            cell: ({ reads }) =>
              reads.map(({ recordType, requests }) => `${recordType} ${formatNumber(requests)}`).join(', '),
          },
          ageColumn('Last sign-in', 'lastSignInAt', 'Never'),
          ageColumn('Invited', 'invitedAt', 'Not yet'),
        ]}
        actions={(visitor) => <VisitorActions visitor={visitor} />}
      />
      {isOn && <Reach figures={access.figures} />}
    </Page>
  );
}
