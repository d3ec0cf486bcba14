import { describe, expect, it } from 'vitest';
import {
  allPermissions,
  assignablePermissions,
  builtInRoles,
  describePermission,
  isReadPermission,
} from '../../src/core/permissions.ts';

describe('the built-in roles', () => {
  it('have the expected permissions', () => {
    expect(allPermissions.filter((permission) => !assignablePermissions.includes(permission))).toEqual([
      'organization:create',
    ]);
    expect(builtInRoles.owner).toEqual(assignablePermissions);
    const admin = new Set<string>(builtInRoles.admin);
    expect(assignablePermissions.filter((permission) => !admin.has(permission))).toEqual([
      'organization:delete',
    ]);
    expect(builtInRoles.viewer.every(isReadPermission)).toBe(true);
    const writes = builtInRoles.editor.filter((permission) => !isReadPermission(permission));
    expect(new Set(writes.map((permission) => permission.split(':')[0]))).toEqual(
      new Set(['sync', 'api-schema', 'view', 'subscription', 'agent', 'conversation', 'portal']),
    );
    for (const withheld of ['api-schema:publish', 'api-schema:retire', 'sync:approve-deletions'] as const)
      expect(builtInRoles.editor).not.toContain(withheld);
  });

  it('have a description for each permission', () => {
    for (const permission of allPermissions)
      expect(describePermission(permission)).toMatch(/^[a-z ]+ [a-zA-Z ]+$/);
  });
});
