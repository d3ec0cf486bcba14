// As switch-offs.ts, for the management interface: masks, and the permission to read records at all.
import type { Replacement } from '../setup/replace-function.ts';
import type { platformChecks } from './platform-surfaces.ts';

export type PlatformSwitchOff = Replacement & {
  /** The surfaces that must notice. */
  readonly surfaces: readonly (keyof typeof platformChecks)[];
};

const off = (
  file: string,
  replaces: string,
  instead: string,
  ...surfaces: PlatformSwitchOff['surfaces']
): PlatformSwitchOff => ({ file: `src/${file}`, replaces, instead, surfaces });

const views = 'platform/views/views.service.ts';
const shown = 'platform/syncs/shown-values.ts';
const agents = 'platform/conversations/current-access.ts';
const previews = 'platform/portal/preview.ts';

export const platformSwitchOffs: readonly PlatformSwitchOff[] = [
  off(
    views,
    'toRights',
    '() => (_ctx, { masked }) => allRows({ unmasked: !masked })',
    'records of a view',
    'CSV of a view',
  ),
  off(views, 'toRights', '(original) => (ctx) => original(ctx, { masked: false })', 'link of a mail'),
  off(
    'platform/api-schemas/version-records.routes.ts',
    'toVersionQuery',
    `(original) => async (ctx, request) =>
      ({ ...(await original(ctx, request)), reads: { ...ctx.principal.reads, unmasked: true } })`,
    'records of a version',
    'CSV of a version',
  ),
  off(
    'public/version/strictest-masks.ts',
    'maskStrictly',
    '() => (endpoint) => endpoint',
    'records of an earlier version',
    'CSV of an earlier version',
  ),
  off(
    'public/tools/version-tools.ts',
    'createVersionTools',
    `(original) => (tools, ...given) => {
      const get = (all, name) => (tenant, access, input) => all[name](tenant, { ...access, masks: 'own' }, input);
      return original(new Proxy(tools, { get }), ...given);
    }`,
    'tools of an agent on an earlier version',
  ),
  off(
    'mcp/record-tools.ts',
    'readAs',
    `(original) => (ctx, usage, read) =>
      original(ctx, usage, (tenant, access) => read(tenant, { ...access, masks: 'own' }))`,
    '/mcp of a person on an earlier version',
  ),
  off(
    'http/route/authorize.ts',
    'authorize',
    `(original) => (route, ...given) =>
      original({ ...route, permission: route.permission.replace('record:read', 'view:read') }, ...given)`,
    'version without record:read',
  ),
  off(
    'http/route/authorize.ts',
    'authorize',
    '(original) => (route, ...given) => original({ ...route, readsRecords: false }, ...given)',
    'view without record:read',
    'agent without record:read',
  ),
  off(
    'platform/views/view-table.ts',
    'readViewTable',
    `(original) => (records, ...given) => {
      const list = (tenant, query, page) => records.list(tenant, query, page, { unmasked: true, rows: 'all' });
      return original({ list }, ...given);
    }`,
    'mail',
    'preview of a view',
  ),
  off(
    'platform/subscriptions/read-view.ts',
    'readCsv',
    `(original) => (records, ...given) => {
      const file = (tenant, query, form, signal) => records.file(tenant, query, form, signal, { unmasked: true, rows: 'all' });
      return original({ file }, ...given);
    }`,
    'attachment of a mail',
  ),
  off(
    previews,
    'readRecord',
    `(original) => (ctx, ...given) => {
      const reads = { ...ctx.principal.reads, unmasked: true };
      return original({ ...ctx, principal: { ...ctx.principal, reads } }, ...given);
    }`,
    'preview of a record',
  ),
  off(
    previews,
    'assertReadsRecords',
    '() => () => undefined',
    'preview of a record without record:read',
    'preview of a view without record:read',
  ),
  off(shown, 'findMasks', '() => async () => new Map()', 'rejections', 'deletion proposal'),
  off(
    shown,
    'mayReadRecords',
    '() => () => true',
    'rejections without record:read',
    'deletion proposal without record:read',
  ),
  off(
    agents,
    'findCurrentAccess',
    `(original) => async (ctx) => {
      const access = await original(ctx);
      return access && { ...access, unmasked: true };
    }`,
    'tools of an agent',
  ),
  off(
    agents,
    'findRights',
    `(original) => async (...given) => {
      const rights = await original(...given);
      return rights && { ...rights, permissions: new Set([...rights.permissions, 'record:read']) };
    }`,
    'agent of someone who loses record:read',
  ),
  off(
    'platform/subscriptions/access.ts',
    'permissionsOfRow',
    "(original) => (role) => [...original(role), 'record:read']",
    'mail of someone who lost record:read',
  ),
  off(
    'platform/view-links/open-link.ts',
    'findRights',
    `(original) => async (...given) => {
      const rights = await original(...given);
      return rights && { ...rights, permissions: new Set([...rights.permissions, 'record:read']) };
    }`,
    'link of someone who lost record:read',
  ),
];
