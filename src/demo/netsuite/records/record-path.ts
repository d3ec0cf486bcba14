// What a path of the record service names: a type that the role sees, and a record by its id or by `eid:` and its external id.
import type { Request } from 'express';
import type { Pool } from 'pg';
import type { RoleView } from '../tables/role-view.ts';
import { asSeenBy, findSwitchedOn, type RecordType } from './record-types.ts';
import { findByExternalId } from './references.ts';
import { noInstance, noType, notPermitted } from './refusals.ts';

export function requireKnownType(role: RoleView, request: Request, name = String(request.params['type'])): RecordType {
  const type = findSwitchedOn(role, name);
  if (!type) throw noType(name, `${request.baseUrl}${request.path}`);
  return type;
}

/** The type with what the role sees of it. */
export function requireType(role: RoleView, request: Request, name?: string): RecordType {
  const known = requireKnownType(role, request, name);
  const type = asSeenBy(role, known);
  if (!type) throw notPermitted(known);
  return type;
}

const EXTERNAL = /^eid:(.+)$/s;

export const externalIdOf = (request: Request): string | undefined => EXTERNAL.exec(String(request.params['id']))?.[1];

/** Digits, perhaps with a sign. */
export function requireId(given: string, type: RecordType): string {
  if (!/^-?\d{1,18}$/.test(given)) throw noInstance(type);
  return given;
}

/** For a write, which finds external ids in the books. */
export async function findId(pool: Pool, type: RecordType, request: Request): Promise<string> {
  const externalId = externalIdOf(request);
  if (externalId === undefined) return requireId(String(request.params['id']), type);
  const id = isWithExternalIds(type) ? await findByExternalId(pool, type, externalId) : undefined;
  if (id === undefined) throw noInstance(type);
  return id;
}

const isWithExternalIds = (type: RecordType): boolean => type.properties.some(({ column }) => column === 'externalid');

export const canWrite = (type: RecordType): boolean => type.properties.some(({ writes }) => writes !== undefined);
