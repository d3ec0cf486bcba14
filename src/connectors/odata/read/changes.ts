// What a service reports as changed since a delta link. OData 4.01 marks removed entities by `@removed`, OData 4.0 by a
// context of their own and their address.
import { z } from 'zod';
import { findJson } from '../../../core/text/parse-json.ts';
import { ErpError } from '../../connector.ts';
import type { ReportedChanges } from '../../source-records.ts';
import type { OdataDefinition } from '../metadata/definition.ts';
import { erpError } from '../requests/errors.ts';
import { isObject, type JsonObject, type OdataHttp } from '../requests/http.ts';
import { toId } from './keys.ts';
import { followPages, noteOf } from './pages.ts';

type Key = OdataDefinition['key'];
const part =
  /^(?:([\p{L}_][\p{L}\p{N}_/]*)=)?(?:[\p{L}_][\p{L}\p{N}_.]*)?(?:'((?:[^']|'')*)'|([^',()=]+))(?:,|$)/u;

/** As it is where it isn't percent-encoded. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The id that an address such as `Orders(Id=1,Text='a')`, or a bare key, names; undefined for any other. */
function toAddressedId(key: Key, address: string): string | undefined {
  let rest = decode(/\(([^/]*)\)$/.exec(address)?.[1] ?? address);
  const row: Record<string, string> = {};
  for (let index = 0; rest !== ''; index += 1) {
    const [whole, name, quoted, plain] = part.exec(rest) ?? [];
    const path = name ?? key[index]?.path;
    if (whole === undefined || path === undefined || path.includes('/')) return undefined;
    row[path] = quoted?.replaceAll("''", "'") ?? plain ?? '';
    rest = rest.slice(whole.length);
  }
  return toId(key, row);
}

const expired = (message: string, cause?: unknown) => erpError('query', 'CHANGES_EXPIRED', message, cause);

/** The entity set, or the navigation property, of a context such as `$metadata#companies(1)/orders(id)/$entity`. */
const setOf = (context: string): string | undefined =>
  /[#/]([^#/]*)$/.exec(
    context
      .replaceAll(/\([^()]*(?:\([^()]*\)[^()]*)*\)/g, '')
      .replace(/\/\$(?:entity|delta|deletedEntity)$/, ''),
  )?.[1];

/**
 * `isGone`: it was deleted, and not only left what may be read. Undefined for a removal that names no record: the
 * counts of records show that one is gone.
 */
function readChange({ key, set }: OdataDefinition, row: JsonObject) {
  const context = noteOf(row, 'context');
  // Of OData 4.0, where `id` and `reason` are no properties.
  const isAddressed = typeof context === 'string' && context.endsWith('/$deletedEntity');
  const note = noteOf(row, 'removed');
  const removed = isAddressed ? row : isObject(note) ? note : undefined;
  const address = String((isAddressed ? row['id'] : noteOf(row, 'id')) ?? '');
  const own = isAddressed ? undefined : toId(key, row);
  const id = own ?? (removed && toAddressedId(key, address));
  const isOther = typeof context === 'string' && setOf(context) !== set;
  if (isOther || (id === undefined && !removed)) throw expired(`A change of ${set} belongs to no record`);
  return id === undefined ? undefined : { id, isGone: removed?.['reason'] === 'deleted' };
}

const maxPageSize = 'odata.maxpagesize=1000';
/** The first page with changes, or the last one. Rejects as `followPages`. */
async function readPart(http: OdataHttp, link: string, signal: AbortSignal) {
  for await (const page of followPages(http, http.follow(link, link), signal, [maxPageSize]))
    if (page.rows.length > 0 || page.nextLink === null) return page;
  return null;
}

const Token = z.tuple([z.string(), z.url()]);

/** Tokens hold the account, whose links mean nothing in another one. */
export const toToken = (account: string, link: string): string => JSON.stringify([account, link]);

/**
 * The changes behind a delta link, or behind the link to their next page. Rejects as `followPages`, and with
 * CHANGES_EXPIRED for the token of another account, where the service no longer knows the link, or reports changes
 * that belong to no record.
 */
export async function listChanges(
  http: OdataHttp,
  account: string,
  definition: OdataDefinition,
  token: string,
  signal: AbortSignal,
): Promise<ReportedChanges> {
  const [owner, link = ''] = Token.safeParse(findJson(token)).data ?? [];
  if (owner !== account) throw expired('The changes are those of another account');
  const page = await readPart(http, link, signal).catch((error: unknown) => {
    const isUnknown =
      error instanceof ErpError && (error.kind === 'query' || error.code === 'ENTITY_SET_UNKNOWN');
    throw isUnknown ? expired(`The ERP no longer lists these changes: ${error.message}`, error) : error;
  });
  const next = page?.nextLink ?? page?.deltaLink ?? null;
  if (page === null || next === null || page.nextLink === link)
    throw expired(`The changes of ${definition.set} have no link to later ones`);
  const changes = page.rows.flatMap((row) => readChange(definition, row) ?? []);
  const idsOf = (wanted: boolean) => changes.filter(({ isGone }) => isGone === wanted).map(({ id }) => id);
  return {
    ...{ changed: idsOf(false), removed: idsOf(true) },
    ...{ token: toToken(account, next), hasMore: page.nextLink !== null },
  };
}
