// Invitations to the organization: to send, resend and withdraw.
import { api, type Item } from '../../api.ts';
import { type States, stateColumn, stateFilter } from '../../parts/detail.tsx';
import { ageColumn, List, listQuery, searchFilter } from '../../parts/list.tsx';
import { ConfirmButton, FormButton } from '../../parts/record-form.tsx';
import { invalidate, useGet } from '../../query.ts';
import { base, go } from '../../router.ts';
import { may, organizationId } from '../../session.ts';
import { useRoles } from './members.tsx';

type Invitation = Item<'/organizations/{id}/invitations'>;
const invitationsPath = '/organizations/{id}/invitations';
const refresh = (): Promise<void> => invalidate(invitationsPath);

/** Opens the form of an invitation, and shows the list of invitations afterwards. */
export function InviteButton() {
  const roles = useRoles();
  const first = roles.find(([, name]) => name === 'viewer')?.[0] ?? roles[0]?.[0] ?? '';
  return (
    <FormButton
      key={first}
      label="Invite a person"
      kind="primary"
      action="Send invitation"
      fields={[
        {
          name: 'email',
          label: 'E-mail address',
          kind: 'email',
          required: true,
          hint: 'Gets a link that is valid for 7 days.',
        },
        {
          name: 'roleId',
          label: 'Role',
          options: roles,
          hint: <a href={`${base}/people/roles`}>What each role may do</a>,
        },
      ]}
      initial={{ roleId: first }}
      save={async (body) => {
        await api.POST(invitationsPath, { params: { path: { id: organizationId() } }, body });
        await refresh();
        go(`${base}/people?show=invitations`);
      }}
    />
  );
}

const states: States<Invitation['status']> = {
  pending: ['busy', 'Open'],
  accepted: ['good', 'Accepted'],
  expired: ['warn', 'Expired'],
  revoked: ['calm', 'Withdrawn'],
};
const mailWords = {
  queued: 'Mail is queued',
  sent: 'Mail was sent',
  failed: 'Mail failed',
  unknown: 'Mail may have arrived',
};

const Address = ({ invitation: { email, delivery } }: { invitation: Invitation }) => (
  <>
    {email}
    {delivery !== null && (
      <span class="fine">
        {mailWords[delivery.status]}
        {delivery.error !== null && `: ${delivery.error}`}
      </span>
    )}
  </>
);

function InvitationActions({ invitation: { id, email, status } }: { invitation: Invitation }) {
  const params = { path: { id: organizationId(), invitationId: id } };
  return (
    <>
      {may('invitation:update') && (status === 'pending' || status === 'expired') && (
        <ConfirmButton
          label="Resend"
          kind="link"
          action="Resend this invitation"
          danger={false}
          run={() =>
            api.POST('/organizations/{id}/invitations/{invitationId}/resend', { params }).then(refresh)
          }
        >
          {email} gets a new link that is valid for 7 days. The old link stops working, and you become the
          sender.
        </ConfirmButton>
      )}
      {may('invitation:delete') && status === 'pending' && (
        <ConfirmButton
          label="Withdraw"
          kind="link"
          action="Withdraw this invitation"
          run={() => api.DELETE('/organizations/{id}/invitations/{invitationId}', { params }).then(refresh)}
        >
          The link that {email} got stops working immediately.
        </ConfirmButton>
      )}
    </>
  );
}

/** The tab of invitations. */
export function Invitations() {
  const query = listQuery<{ q: string; status: Invitation['status'] }>('q', 'status');
  const read = useGet(invitationsPath, { path: { id: organizationId() }, query });
  return (
    <List
      label="Invitations"
      read={read}
      filters={[searchFilter('Search addresses'), stateFilter(states)]}
      next="Invite the people who work with you: each gets a link by mail."
      columns={[
        { title: 'Address', cell: (invitation) => <Address invitation={invitation} /> },
        { title: 'Role', minor: true, cell: ({ role }) => role.name },
        stateColumn(states),
        { title: 'Sent by', minor: true, cell: ({ invitedBy }) => invitedBy.name },
        ageColumn('Expires', 'expiresAt'),
      ]}
      actions={(invitation) => <InvitationActions invitation={invitation} />}
    />
  );
}
