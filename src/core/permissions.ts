// The catalogue of permissions and the built-in roles. Permission names are `<resource>:<action>`.

const crud = ['read', 'create', 'update', 'delete'] as const;
type Crud = (typeof crud)[number];

/** Resources with their actions and a label for people. */
const catalogue = {
  organization: { label: 'the organization', actions: crud },
  member: { label: 'members', actions: crud },
  invitation: { label: 'invitations', actions: crud },
  role: { label: 'roles', actions: crud },
  domain: { label: 'domains', actions: crud },
  audit: { label: 'the audit log', actions: ['read'] },
  team: { label: 'teams', actions: crud },
  netsuite: { label: 'the ERP connection netsuite and its metadata', actions: ['read', 'update', 'delete'] },
  connection: { label: 'ERP connections and their metadata', actions: crud },
  sync: { label: 'sync configurations and runs', actions: [...crud, 'approve-deletions'] },
  'api-key': { label: 'API keys', actions: crud },
  webhook: { label: 'webhooks', actions: crud },
  'api-schema': { label: 'API schema versions', actions: [...crud, 'publish', 'retire'] },
  view: { label: 'views', actions: crud },
  subscription: { label: 'subscriptions', actions: crud },
  agent: { label: 'agents', actions: [...crud, 'restart'] },
  conversation: { label: 'conversations', actions: crud },
  'pay-config': { label: 'the payment configuration', actions: ['read', 'update'] },
  payment: { label: 'payments', actions: ['read', 'create', 'update'] },
  payout: { label: 'payouts', actions: ['read'] },
  portal: { label: 'the portal configuration', actions: [...crud, 'view-as'] },
  record: { label: 'records', actions: ['read'] },
  unmasked: { label: 'masked fields as they are', actions: ['read'] },
} as const satisfies Record<string, { label: string; actions: readonly (Crud | string)[] }>;

type Catalogue = typeof catalogue;
export type Permission = {
  [R in keyof Catalogue]: `${R & string}:${Catalogue[R]['actions'][number]}`;
}[keyof Catalogue];

export const allPermissions: readonly Permission[] = Object.entries(catalogue).flatMap(
  ([resource, { actions }]) => actions.map((action) => `${resource}:${action}` as Permission),
);

/**
 * Creating an organization isn't granted by a role: every signed-in person may do it while sign-up is open,
 * and an API key never may. All other permissions are granted by roles.
 */
export const signUpPermission: Extract<Permission, 'organization:create'> = 'organization:create';
export const assignablePermissions: readonly Permission[] = allPermissions.filter(
  (permission) => permission !== signUpPermission,
);

const assignable = new Set<string>(assignablePermissions);
/** Whether a role may include this permission. */
export const isRolePermission = (name: string): name is Permission => assignable.has(name);
/** Whether credentials that can only read have it. Unmasked fields need that permission by name. */
export const isReadPermission = (permission: Permission): boolean =>
  permission.endsWith(':read') && permission !== 'unmasked:read';

/** The scope of an access token that restricts it to reading. */
export const readScope = 'portal:read';

/** A short description for people, such as "read members". */
export function describePermission(permission: Permission): string {
  if (permission === 'portal:view-as') return 'see the portal as a visitor';
  const [resource = '', action = ''] = permission.split(':');
  return `${action.replaceAll('-', ' ')} ${catalogue[resource as keyof Catalogue].label}`;
}

const editorResources = new Set(['sync', 'view', 'subscription', 'agent', 'conversation', 'portal']);
const editorMayWrite = (permission: Permission): boolean => {
  const [resource = '', action = ''] = permission.split(':');
  if (
    permission === 'api-schema:create' ||
    permission === 'api-schema:update' ||
    permission === 'api-schema:delete'
  )
    return true;
  return editorResources.has(resource) && action !== 'approve-deletions' && action !== 'view-as';
};

/** The permissions of the built-in roles, by role name. */
export const builtInRoles = {
  owner: assignablePermissions,
  admin: assignablePermissions.filter((permission) => permission !== 'organization:delete'),
  editor: assignablePermissions.filter(
    (permission) => isReadPermission(permission) || editorMayWrite(permission),
  ),
  viewer: assignablePermissions.filter(isReadPermission),
} as const satisfies Record<string, readonly Permission[]>;

export type BuiltInRole = keyof typeof builtInRoles;
