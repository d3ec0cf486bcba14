// Roles and their permissions. Built-in roles can't be changed; own ones are edited in the matrix. Which role
// is shown is in the address.
import { useState } from 'preact/hooks';
import { api, type Item } from '../../api.ts';
import { formatCount, formatNumber } from '../../format.ts';
import { DeleteButton } from '../../parts/detail.tsx';
import { minorColumn } from '../../parts/list.tsx';
import { Empty, Page, Section } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { RecordForm } from '../../parts/record-form.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import '../../styles/people.css';
import { invalidate, useGet } from '../../query.ts';
import { base, query, setQuery } from '../../router.ts';
import { may, organizationId } from '../../session.ts';
import { type PermissionEntry, PermissionMatrix } from './permission-matrix.tsx';

type Role = Item<'/organizations/{id}/roles'>;
const rolesPath = '/organizations/{id}/roles';
const rolePath = '/organizations/{id}/roles/{roleId}';

const showRole = (id: string | null): void => setQuery({ role: id, edit: null }, { replace: false });

type EditorProps = { role?: Role; roles: readonly Role[]; permissions: readonly PermissionEntry[] };
type Values = Readonly<Record<'name' | 'description' | 'from', string>>;

async function saveRole(
  role: Role | undefined,
  body: { name: string; description: string; permissions: never[] },
): Promise<Role | undefined> {
  const id = organizationId();
  const { data } =
    role === undefined
      ? await api.POST(rolesPath, { params: { path: { id } }, body })
      : await api.PATCH(rolePath, { params: { path: { id, roleId: role.id } }, body });
  return data;
}

/** Changes a role, or makes one that starts with the permissions of another. */
function RoleEditor({ role, roles, permissions }: EditorProps) {
  const [granted, setGranted] = useState<ReadonlySet<string>>(new Set(role?.permissions));
  const [from, setFrom] = useState('');
  const grant = (permission: string, has: boolean): void =>
    setGranted((before) =>
      has ? new Set(before).add(permission) : new Set([...before].filter((one) => one !== permission)),
    );
  const startFrom = (values: Values): void => {
    if (values.from === from) return;
    setFrom(values.from);
    setGranted(new Set(roles.find((one) => one.id === values.from)?.permissions));
  };
  const save = async ({ name, description }: Values): Promise<void> => {
    const saved = await saveRole(role, { name, description, permissions: [...granted] as never[] });
    await invalidate(rolesPath);
    showRole(saved?.id ?? null);
  };
  return (
    <Section title={role === undefined ? 'New role' : `Edit ${role.name}`}>
      <RecordForm
        label={role === undefined ? 'Create role' : 'Save role'}
        initial={role ?? {}}
        onChange={startFrom}
        save={save}
        secondary={
          <button type="button" onClick={() => showRole(role?.id ?? null)}>
            Cancel
          </button>
        }
        fields={[
          { name: 'name', label: 'Name', required: true },
          { name: 'description', label: 'Description' },
          {
            name: 'from',
            label: 'Start from',
            when: () => role === undefined,
            options: [['', 'No permissions'], ...roles.map((one) => [one.id, one.name] as const)],
            hint: `${formatCount(granted.size, 'permission')} chosen. You can grant only permissions that you have.`,
          },
        ]}
      >
        <PermissionMatrix permissions={permissions} granted={granted} onChange={grant} />
      </RecordForm>
    </Section>
  );
}

function RoleActions({ role: { id, name, memberCount } }: { role: Role }) {
  const remove = async (): Promise<void> => {
    await api.DELETE(rolePath, { params: { path: { id: organizationId(), roleId: id } } });
    await invalidate(rolesPath);
  };
  return (
    <>
      {may('role:update') && (
        <button type="button" onClick={() => setQuery({ edit: '1' }, { replace: false })}>
          Edit
        </button>
      )}
      {may('role:delete') && (
        <DeleteButton what="role" name={`the role ${name}`} run={remove} to="/people/roles">
          It can be deleted only when no member and no open invitation has it. Now{' '}
          {formatCount(memberCount, 'member')} have it.
        </DeleteButton>
      )}
    </>
  );
}

const RoleDetail = ({ role, permissions }: { role: Role; permissions: readonly PermissionEntry[] }) => (
  <Section title={role.name} actions={!role.builtIn && <RoleActions role={role} />}>
    <div class="stack">
      {role.description !== '' && <p class="muted">{role.description}</p>}
      <PermissionMatrix permissions={permissions} granted={new Set(role.permissions)} />
    </div>
  </Section>
);

const createColumns = (shown: string): readonly Column<Role>[] => [
  {
    title: 'Role',
    cell: ({ id, name }) => (
      <a href={`${base}/people/roles?role=${id}`} aria-current={id === shown ? 'true' : undefined}>
        {name}
      </a>
    ),
  },
  { title: 'Kind', cell: ({ builtIn }) => <span class="nowrap muted">{builtIn ? 'Built-in' : 'Own'}</span> },
  minorColumn('Description', 'description'),
  { title: 'Permissions', align: 'end', cell: ({ permissions }) => formatNumber(permissions.length) },
  { title: 'Members', align: 'end', cell: ({ memberCount }) => formatNumber(memberCount) },
];

export function Roles() {
  const params = { path: { id: organizationId() }, query: { pageSize: 100 } };
  const read = useGet(rolesPath, params);
  const { data, error, reload } = useGet('/organizations/{id}/permissions', params);
  const roles = read.data?.data.toReversed();
  const chosen = query.value.get('role') ?? roles?.[0]?.id ?? '';
  const role = roles?.find(({ id }) => id === chosen);
  const isNew = chosen === 'new';
  const isEdited = isNew || (query.value.has('edit') && role?.builtIn === false);
  const content = (all: readonly Role[], permissions: readonly PermissionEntry[]) => {
    if (isEdited)
      return (
        <RoleEditor
          key={chosen}
          {...(role !== undefined && { role })}
          roles={all}
          permissions={permissions}
        />
      );
    return role === undefined ? (
      <Empty title="This role does not exist any more." />
    ) : (
      <RoleDetail role={role} permissions={permissions} />
    );
  };
  return (
    <Page
      title="Roles"
      lead="What each role may do. Built-in roles can't be changed; create your own."
      above={[{ to: `${base}/people`, title: 'People' }]}
      actions={
        may('role:create') &&
        !isNew && (
          <a class="button primary" href={`${base}/people/roles?role=new`}>
            New role
          </a>
        )
      }
    >
      {!isEdited && (
        <Table
          label="Roles"
          rows={roles}
          error={read.error}
          retry={() => void read.reload()}
          columns={createColumns(chosen)}
        />
      )}
      <Problem error={error} retry={() => void reload()} />
      {data !== undefined && roles !== undefined && content(roles, data.data)}
    </Page>
  );
}
