// Teams: groups of members with whom views are shared.
import { api, type Item } from '../../api.ts';
import { formatCount, formatNumber } from '../../format.ts';
import { DeleteButton, ObjectPage } from '../../parts/detail.tsx';
import { ageColumn, List, linkColumn, listQuery, minorColumn, searchFilter } from '../../parts/list.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { ConfirmButton, DialogButton, FormButton, RecordForm } from '../../parts/record-form.tsx';
import { invalidate, useGet } from '../../query.ts';
import { base, go, type ScreenProps } from '../../router.ts';
import { may, organizationId } from '../../session.ts';
import { membersPath } from './members.tsx';

type Team = Item<'/teams'>;

const fields = [
  { name: 'name', label: 'Name', required: true },
  { name: 'description', label: 'Description' },
] as const;

async function createTeam(body: { readonly name: string; readonly description: string }): Promise<void> {
  const { data } = await api.POST('/teams', { body });
  await invalidate('/teams');
  go(`${base}/teams/${data?.id}`);
}

export function Teams() {
  const read = useGet('/teams', { query: listQuery<{ q: string }>('q') });
  return (
    <Page
      title="Teams"
      lead="A view can be shared with a team instead of the whole organization."
      actions={
        may('team:create') && (
          <FormButton
            label="New team"
            kind="primary"
            action="Create team"
            fields={fields}
            save={createTeam}
          />
        )
      }
    >
      <List
        label="Teams"
        read={read}
        filters={[searchFilter('Search teams')]}
        columns={[
          linkColumn('Team', '/teams', 'name'),
          minorColumn('Description', 'description'),
          { title: 'Members', align: 'end', cell: ({ memberCount }) => formatNumber(memberCount) },
          ageColumn('Created', 'createdAt'),
        ]}
      />
    </Page>
  );
}

/**
 * The id of the member with this address. What no member has is sent as it is: the service says what is
 * wrong.
 */
async function findMember(email: string): Promise<string> {
  const { data } = await api.GET(membersPath, {
    params: { path: { id: organizationId() }, query: { q: email, pageSize: 100 } },
  });
  return data?.data.find(({ user }) => user.email.toLowerCase() === email.toLowerCase())?.user.id ?? email;
}

/** Offers the first hundred members; any other can be typed. */
function AddMember({ id, close }: { id: string; close: () => void }) {
  const { data } = useGet(membersPath, { path: { id: organizationId() }, query: { pageSize: 100 } });
  const known = data?.data.map(({ user }) => user.email);
  const add = async ({ member }: { readonly member: string }): Promise<void> => {
    await api.POST('/teams/{id}/members', {
      params: { path: { id } },
      body: { userId: await findMember(member.trim()) },
    });
    await invalidate('/teams');
    close();
  };
  return (
    <RecordForm
      label="Add to the team"
      fields={[{ name: 'member', label: 'E-mail address', required: true, known }]}
      save={add}
    />
  );
}

function TeamMembers({ team: { id, name } }: { team: Team }) {
  const read = useGet('/teams/{id}/members', { path: { id }, query: listQuery<{ q: string }>('q') });
  const remove = (userId: string): Promise<void> =>
    api
      .DELETE('/teams/{id}/members/{userId}', { params: { path: { id, userId } } })
      .then(() => invalidate('/teams'));
  return (
    <Section
      title="Members"
      actions={
        may('team:update') && (
          <DialogButton label="Add a member">{(close) => <AddMember id={id} close={close} />}</DialogButton>
        )
      }
    >
      <List
        label="Members of the team"
        read={read}
        rowKey={({ user }) => user.id}
        filters={[searchFilter('Search members')]}
        columns={[
          { title: 'Name', cell: ({ user }) => user.name },
          { title: 'Address', minor: true, cell: ({ user }) => user.email },
          ageColumn('Added', 'addedAt'),
        ]}
        actions={({ user }) =>
          may('team:update') && (
            <ConfirmButton
              label="Remove"
              kind="link"
              action="Remove from the team"
              run={() => remove(user.id)}
            >
              {user.name} no longer sees the views of {name}, and stays in the organization.
            </ConfirmButton>
          )
        }
      />
    </Section>
  );
}

function TeamActions({ team }: { team: Team }) {
  const params = { path: { id: team.id } };
  return (
    <>
      {may('team:update') && (
        <FormButton
          label="Edit"
          action="Save"
          fields={fields}
          initial={team}
          save={(body) => api.PATCH('/teams/{id}', { params, body }).then(() => invalidate('/teams'))}
        />
      )}
      {may('team:delete') && (
        <DeleteButton
          what="team"
          name={`the team ${team.name}`}
          to="/teams"
          run={() => api.DELETE('/teams/{id}', { params }).then(() => invalidate('/teams '))}
        >
          Its {formatCount(team.memberCount, 'member')} stay in the organization. Views shared with the team
          become visible to their owners only.
        </DeleteButton>
      )}
    </>
  );
}

export const TeamScreen = ({ params: { id = '' } }: ScreenProps) => (
  <ObjectPage
    read={useGet('/teams/{id}', { path: { id } })}
    kind="Team"
    list="/teams"
    show={(team) => ({
      title: team.name,
      lead: team.description,
      actions: <TeamActions team={team} />,
      children: <TeamMembers team={team} />,
    })}
  />
);
