// As surface-patches.ts, for the management interface: masks, and the permission to read records at all.

import type { platformChecks } from './platform-surfaces.ts';
import type { Patch } from './surface-patches.ts';

export type PlatformPatch = Patch & { readonly surface: keyof typeof platformChecks };

const patch = (
  file: string,
  find: string,
  replace: string,
  ...surfaces: readonly PlatformPatch['surface'][]
): PlatformPatch[] => surfaces.map((surface) => ({ surface, file, find, replace }));

const views = 'platform/views';
const versions = 'platform/api-schemas/version-records.routes.ts';
const shown = 'platform/syncs/shown-values.ts';
const agents = 'platform/conversations/current-access.ts';
const previews = 'platform/portal/preview.ts';
const strict = 'public/version/strictest-masks.ts';
const routes = 'http/route/authorize.ts';

export const platformPatches: readonly PlatformPatch[] = [
  ...patch(
    `${views}/views.service.ts`,
    'unmasked: principal.reads.unmasked && !masked',
    'unmasked: principal !== undefined || !masked',
    'records of a view',
    'CSV of a view',
  ),
  ...patch(
    `${views}/views.service.ts`,
    'principal.reads.unmasked && !masked',
    "principal.reads.unmasked && typeof masked === 'boolean'",
    'link of a mail',
  ),
  ...patch(
    versions,
    'reads: ctx.principal.reads',
    'reads: { ...ctx.principal.reads, unmasked: true }',
    'records of a version',
    'CSV of a version',
  ),
  ...patch(
    strict,
    'access.unmasked ?',
    'access.layers ?',
    'records of an earlier version',
    'CSV of an earlier version',
  ),
  ...patch(
    'public/tools/version-tools.ts',
    "masks: 'living'",
    "masks: 'own'",
    'tools of an agent on an earlier version',
  ),
  ...patch(
    'mcp/record-tools.ts',
    "masks: 'living'",
    "masks: 'own'",
    '/mcp of a person on an earlier version',
  ),
  ...patch(versions, "permission: 'record:read'", "permission: 'view:read'", 'version without record:read'),
  ...patch(
    `${views}/view-table.ts`,
    '{ unmasked: false }',
    '{ unmasked: true }',
    'mail',
    'preview of a view',
  ),
  ...patch(
    'platform/subscriptions/read-view.ts',
    '{ unmasked: false }',
    '{ unmasked: true }',
    'attachment of a mail',
  ),
  ...patch(previews, 'sources, ctx.principal.reads)', 'sources, { unmasked: true })', 'preview of a record'),
  ...patch(
    shown,
    '(ctx.principal.reads.unmasked ?',
    '(ctx.principal !== undefined ?',
    'rejections',
    'deletion proposal',
  ),
  ...patch(agents, 'rights.access.unmasked && ctx.principal.reads.unmasked', 'true', 'tools of an agent'),
  ...patch(
    routes,
    'if (route.readsRecords === true)',
    'if (route.readsRecords === null)',
    'view without record:read',
    'agent without record:read',
  ),
  ...patch(
    'platform/subscriptions/access.ts',
    "|| !permissions.includes('record:read')",
    '',
    'mail of someone who lost record:read',
  ),
  ...patch(
    previews,
    'assertReadsRecords(ctx);\n    return',
    'return',
    'preview of a record without record:read',
  ),
  ...patch(
    previews,
    'assertReadsRecords(ctx);\n  const table',
    'const table',
    'preview of a view without record:read',
  ),
  ...patch(
    shown,
    "principal.permissions.has('record:read')",
    'principal !== undefined',
    'rejections without record:read',
    'deletion proposal without record:read',
  ),
  ...patch(agents, "!rights.permissions.has('record:read') ||", '', 'agent of someone who loses record:read'),
];
