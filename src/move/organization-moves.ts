// Moves the organizations whose records are on the former server, one by one. Each is read from there until
// its copy is complete; an attempt that was interrupted or replaced can't make its copy count.
import type { ClientBase } from 'pg';
import { errorMessage } from '../core/errors.ts';
import { createId } from '../core/id.ts';
import { tenantSchema } from '../warehouse/tenant-schema.ts';
import { CannotMove } from './control-move.ts';
import { type Copied, copyOrganization } from './copy-organization.ts';

export type Servers = {
  /** The former server, connected as portal_service. */
  readonly source: ClientBase;
  /** The new one, connected as portal_service. */
  readonly target: ClientBase;
  /** The new one, connected as portal_owner. */
  readonly control: ClientBase;
};

export type Waiting = { readonly id: string; readonly slug: string };

/** Organizations that are not moved yet, oldest first. */
export async function listWaiting(control: ClientBase): Promise<Waiting[]> {
  const { rows } = await control.query<Waiting>(
    `select id, slug from organizations where warehouse <> 'current' and deleting_since is null order by created_at, id`,
  );
  return rows;
}

/**
 * Undefined when there is nothing to move any more. Rejects with CannotMove when another attempt has begun,
 * and as `copyOrganization` does.
 */
async function moveOne({ source, target, control }: Servers, { id }: Waiting): Promise<Copied | undefined> {
  const attempt = createId();
  const begun = await control.query(
    `update organizations set warehouse = 'moving', warehouse_attempt = $2 where id = $1 and warehouse <> 'current' and deleting_since is null`,
    [id, attempt],
  );
  if (begun.rowCount !== 1) return undefined;
  const copied = await copyOrganization(source, target, tenantSchema(id));
  const ended = await control.query(
    `update organizations set warehouse = 'current', warehouse_attempt = null where id = $1 and warehouse_attempt = $2`,
    [id, attempt],
  );
  if (ended.rowCount === 1) return copied;
  const { rowCount } = await control.query('select from organizations where id = $1', [id]);
  if (rowCount === 1) throw new CannotMove('another process moves it as well');
  // Deleted meanwhile.
  await target.query(`drop schema if exists ${tenantSchema(id)} cascade`);
  return undefined;
}

/** Drops the records of organizations that were deleted meanwhile. Returns the number of schemas. */
async function dropDeleted(server: ClientBase, control: ClientBase): Promise<number> {
  const { rows: schemas } = await server.query<{ id: string }>(
    `select substr(nspname, 4)::uuid as id from pg_namespace where nspname ~ '^wh_[0-9a-f]{32}$'`,
  );
  const { rows } = await control.query<{ id: string }>(
    'select id from unnest($1::uuid[]) as s (id) where not exists (select from organizations o where o.id = s.id)',
    [schemas.map(({ id }) => id)],
  );
  for (const { id } of rows) await server.query(`drop schema if exists ${tenantSchema(id)} cascade`);
  return rows.length;
}

export type MovedOrganization = Waiting & Copied & { readonly seconds: number };
export type Moves = {
  readonly moved: readonly MovedOrganization[];
  readonly failed: readonly (Waiting & { readonly reason: string })[];
  /** Deleted organizations whose records were dropped on the former server. */
  readonly dropped: number;
};

/** A failure leaves its organization where it is; the next is moved. Rejects with control database errors. */
export async function moveOrganizations(servers: Servers, progress: (line: string) => void): Promise<Moves> {
  const moved: MovedOrganization[] = [];
  const failed: { id: string; slug: string; reason: string }[] = [];
  for (const organization of await listWaiting(servers.control)) {
    const startedMs = performance.now();
    try {
      const copied = await moveOne(servers, organization);
      if (copied === undefined) continue;
      const seconds = Math.round(performance.now() - startedMs) / 1_000;
      moved.push({ ...organization, ...copied, seconds });
      progress(`${organization.slug}: ${copied.rows} rows of ${copied.tables} tables in ${seconds} s`);
    } catch (error) {
      failed.push({ ...organization, reason: errorMessage(error) });
      progress(`${organization.slug}: ${errorMessage(error)}`);
    }
  }
  // What an interrupted attempt copied, or one during which the organization was deleted.
  await dropDeleted(servers.target, servers.control);
  return { moved, failed, dropped: await dropDeleted(servers.source, servers.control) };
}
