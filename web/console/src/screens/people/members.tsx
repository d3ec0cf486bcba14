// Members of the organization: their roles, and what ends when one is removed.
import { useState } from 'preact/hooks';
import { api, type Item } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { Select } from '../../parts/form.tsx';
import { ageColumn, List, listQuery, searchFilter, selectFilter } from '../../parts/list.tsx';
import { Problem } from '../../parts/problem.tsx';
import { FormButton, OpenButton } from '../../parts/record-form.tsx';
import { invalidate, useGet } from '../../query.ts';
import { identity, may, organizationId } from '../../session.ts';

type Member = Item<'/organizations/{id}/members'>;

export const membersPath = '/organizations/{id}/members';
const memberPath = '/organizations/{id}/members/{userId}';
const toParams = ({ user }: Member) => ({ id: organizationId(), userId: user.id });
const refresh = (): Promise<void> => invalidate(membersPath);

/** The roles to choose from; up to a hundred. */
export function useRoles(): readonly (readonly [id: string, name: string])[] {
  const { data } = useGet(may('role:read') ? '/organizations/{id}/roles' : null, {
    path: { id: organizationId() },
    query: { pageSize: 100 },
  });
  return (data?.data ?? []).map(({ id, name }) => [id, name] as const).toReversed();
}

/** Says which keys of the member are affected, and asks what happens to them. */
function RemoveMember({ member, onClose }: { member: Member; onClose: () => void }) {
  const path = toParams(member);
  const { data, error } = useGet(memberPath, { path });
  const [keys, setKeys] = useState('revoke');
  const held = data?.apiKeys ?? [];
  const query = held.length === 0 ? {} : { keys: keys as 'revoke' };
  const run = (): Promise<void> => api.DELETE(memberPath, { params: { path, query } }).then(refresh);
  return (
    <Confirm
      title={`Remove ${member.user.name}`}
      action="Remove this member"
      danger
      run={run}
      onClose={onClose}
    >
      <p>
        {member.user.email} loses access immediately. Views and subscriptions of this person stay without an
        owner.
      </p>
      {data !== undefined && (
        <p>
          {formatCount(held.length, 'active API key')} of this person
          {held.length > 0 && `: ${held.map(({ name }) => name).join(', ')}`}.
        </p>
      )}
      {held.length > 0 && (
        <Select
          label="What happens to these keys"
          value={keys}
          onChange={setKeys}
          options={[
            ['revoke', 'Revoke them: their programs get 401 from now on'],
            ['transfer', 'Transfer them to me: their secrets end in 7 days unless I rotate or keep them'],
          ]}
        />
      )}
      <Problem error={error} />
    </Confirm>
  );
}

function MemberActions({ member, roles }: { member: Member; roles: ReturnType<typeof useRoles> }) {
  if (member.user.id === identity.value?.user.id) return <span class="muted">You</span>;
  return (
    <>
      {may('member:update') && roles.length > 0 && (
        <FormButton
          label="Change role"
          kind="link"
          title={`Role of ${member.user.name}`}
          action="Change role"
          initial={{ roleId: member.roleId }}
          fields={[
            {
              name: 'roleId',
              label: 'Role',
              options: roles,
              hint: 'Takes effect with the next request of the member or their keys.',
            },
          ]}
          save={(body) => api.PATCH(memberPath, { params: { path: toParams(member) }, body }).then(refresh)}
        />
      )}
      {may('member:delete') && (
        <OpenButton label="Remove" kind="link">
          {(close) => <RemoveMember member={member} onClose={close} />}
        </OpenButton>
      )}
    </>
  );
}

/** The tab of members. */
export function Members() {
  const roles = useRoles();
  const query = listQuery<{ q: string; roleId: string }>('q', 'roleId');
  const read = useGet(membersPath, { path: { id: organizationId() }, query });
  return (
    <List
      label="Members"
      read={read}
      rowKey={({ user }) => user.id}
      filters={[searchFilter('Search members'), selectFilter('Role', 'roleId', 'All roles', roles)]}
      columns={[
        {
          title: 'Member',
          cell: ({ user }) => (
            <>
              {user.name}
              {user.name !== user.email && <span class="fine">{user.email}</span>}
            </>
          ),
        },
        { title: 'Role', cell: ({ role }) => role.name },
        ageColumn('Joined', 'joinedAt'),
        ageColumn('Last active', 'lastActiveAt', 'Never'),
      ]}
      actions={(member) => <MemberActions member={member} roles={roles} />}
    />
  );
}
