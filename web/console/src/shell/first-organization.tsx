import { api } from '../api.ts';
import { Page } from '../parts/page.tsx';
import { Problem } from '../parts/problem.tsx';
import { ActionButton, RecordForm } from '../parts/record-form.tsx';
import { Skeleton } from '../parts/skeleton.tsx';
import { useRead } from '../query.ts';
import { chooseOrganization, signOut } from '../session.ts';
import { readOrganizations } from './organizations.ts';

type User = { readonly email: string };

/** The person's organizations and, without any, what to do about it. */
async function readStart() {
  const [organizations, { data: caller }] = await Promise.all([readOrganizations(), api.GET('/whoami')]);
  return {
    organizations,
    mayCreate: caller?.permissions.includes('organization:create'),
    advice: caller?.nextStep?.message,
  };
}

/**
 * For a person who works in no organization yet: chooses one of theirs, or creates their first one where
 * people may do so.
 */
export function FirstOrganization({ user }: { user: User }) {
  const { data, error, reload } = useRead('/whoami start', readStart);
  if (data === undefined && error === undefined) return <Skeleton lines={4} />;
  const isNew = data?.organizations.length === 0;
  return (
    <Page
      title={
        isNew && data.mayCreate
          ? 'Create your organization'
          : isNew
            ? 'You belong to no organization'
            : 'Choose an organization'
      }
    >
      {error !== undefined || data === undefined ? (
        <Problem error={error} retry={() => void reload()} />
      ) : !isNew ? (
        <Choice known={data.organizations} />
      ) : data.mayCreate ? (
        <Creation user={user} />
      ) : (
        <p>
          {data.advice} You are signed in as {user.email}.
        </p>
      )}
      <p>
        <button type="button" class="link" onClick={() => void signOut()}>
          Sign out
        </button>
      </p>
    </Page>
  );
}

const Choice = ({ known }: { known: readonly { readonly id: string; readonly name: string }[] }) => (
  <ul class="choices">
    {known.map(({ id, name }) => (
      <li key={id}>
        <ActionButton label={name} run={() => chooseOrganization(id, location.pathname + location.search)} />
      </li>
    ))}
  </ul>
);

async function create(body: { readonly name: string }): Promise<void> {
  const { data } = await api.POST('/organizations', { body });
  if (data !== undefined) await chooseOrganization(data.id);
}

const Creation = ({ user }: { user: User }) => (
  <>
    <p>
      It holds the connection to your ERP, what is synced, and who may see it. You are signed in as{' '}
      {user.email}.
    </p>
    <p class="fine">Were you invited to one? Open the link in the invitation instead.</p>
    <RecordForm
      label="Create organization"
      focusFirst
      save={create}
      fields={[{ name: 'name', label: 'Name', required: true, hint: 'Usually the name of your company.' }]}
    />
  </>
);
