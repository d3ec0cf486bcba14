import { describe, expect, it } from 'vitest';
import { allPermissions, builtInRoles, describePermission, isReadPermission, rolePermissions } from '../../src/core/permissions.ts';

describe('the built-in roles', () => {
  it('hold what their names say', () => {
    expect(allPermissions.filter((permission) => !rolePermissions.includes(permission))).toEqual(['organization:create']);
    expect(builtInRoles.owner).toEqual(rolePermissions);
    const admin = new Set<string>(builtInRoles.admin);
    expect(rolePermissions.filter((permission) => !admin.has(permission))).toEqual(['organization:delete']);
    expect(builtInRoles.viewer.every(isReadPermission)).toBe(true);
    const writes = builtInRoles.editor.filter((permission) => !isReadPermission(permission));
    expect(new Set(writes.map((permission) => permission.split(':')[0]))).toEqual(
      new Set(['sync', 'api-schema', 'view', 'subscription', 'agent', 'conversation', 'portal']),
    );
    for (const withheld of ['api-schema:publish', 'api-schema:retire', 'sync:approve-deletions'] as const)
      expect(builtInRoles.editor).not.toContain(withheld);
  });

  it('are described in words', () => {
    for (const permission of allPermissions) expect(describePermission(permission)).toMatch(/^[a-z ]+ [a-zA-Z ]+$/);
  });
});
