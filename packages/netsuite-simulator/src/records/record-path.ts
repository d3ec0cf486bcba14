// Resolves paths of the record service: a type that the role can see, and a record by its id or by `eid:` and
// its external id.
import type { Request } from 'express';
import type { Pool } from 'pg';
import type { RoleVisibility } from '../tables/role-visibility.ts';
import { assertRecordWritable, assertTypeAllowed } from './assert-visible.ts';
import { permissionDenied, recordNotFound, unknownRecordType } from './record-errors.ts';
import type { RestRecordType } from './record-type.ts';
import { catalogPart, findEnabledType, visiblePart } from './record-types.ts';
import { findByExternalId } from './references.ts';

/** What the metadata catalog shows of the type. Throws RestError 404 for a type that it doesn't list. */
export function getCatalogType(
  role: RoleVisibility,
  request: Request,
  name = String(request.params['type']),
): RestRecordType {
  const type = catalogPart(role, getEnabledType(role, request, name));
  if (!type) throw unknownRecordType(name, `${request.baseUrl}${request.path}`);
  return type;
}

/** Throws RestError 404 for a type that is unknown or whose feature is off. */
function getEnabledType(
  role: RoleVisibility,
  request: Request,
  name = String(request.params['type']),
): RestRecordType {
  const type = findEnabledType(role, name);
  if (!type) throw unknownRecordType(name, `${request.baseUrl}${request.path}`);
  return type;
}

/**
 * The type with the properties that the role can see. Throws RestError 404 for an unknown type and 403 for
 * one hidden from the role.
 */
export function getVisibleType(role: RoleVisibility, request: Request, name?: string): RestRecordType {
  const known = getEnabledType(role, request, name);
  const type = visiblePart(role, known);
  if (!type || (request.method !== 'GET' && !role.canWrite(known.table))) throw permissionDenied(known);
  assertTypeAllowed(role, known, request.method !== 'GET');
  return type;
}

const EXTERNAL = /^eid:(.+)$/s;

export const parseExternalId = (request: Request): string | undefined =>
  EXTERNAL.exec(String(request.params['id']))?.[1];

/** Throws RestError (as for an absent record) unless the id is a whole number, possibly negative. */
export function parseRecordId(given: string, type: RestRecordType): string {
  if (!/^-?\d{1,18}$/.test(given)) throw recordNotFound(type);
  return given;
}

/**
 * The id of a record to be written; external ids are looked up in the books. Rejects with RestError when
 * there is none that the role may write.
 */
export async function getRecordId(
  pool: Pool,
  role: RoleVisibility,
  type: RestRecordType,
  request: Request,
): Promise<string> {
  const id = await resolveRecordId(pool, type, request);
  if (role.isRowHidden(type.table, id)) throw recordNotFound(type);
  await assertRecordWritable({ pool, role }, type, id);
  return id;
}

async function resolveRecordId(pool: Pool, type: RestRecordType, request: Request): Promise<string> {
  const externalId = parseExternalId(request);
  if (externalId === undefined) return parseRecordId(String(request.params['id']), type);
  const id = hasExternalIds(type) ? await findByExternalId(pool, type, externalId) : undefined;
  if (id === undefined) throw recordNotFound(type);
  return id;
}

const hasExternalIds = (type: RestRecordType): boolean =>
  type.properties.some(({ column }) => column === 'externalid');

export const canWrite = (type: RestRecordType): boolean =>
  type.properties.some(({ writes }) => writes !== undefined);
