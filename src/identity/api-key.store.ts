// Looks up API keys by their secret, across organizations, because the key determines the organization.
import type { Ctx } from '../core/ctx.ts';
import type { AccessLayer, RecordAccess } from '../core/record-access.ts';
import { isMovingSql } from '../db/moved-database.ts';
import { hasApiKeyFormat, hashApiKey } from './api-key.ts';

export type FoundApiKey = {
  readonly id: string;
  readonly organization: { readonly id: string; readonly slug: string; readonly name: string };
  /** Empty lists mean no restriction; empty permissions mean read, `none` no access to the management interface. */
  readonly scopes: {
    readonly versions: readonly string[];
    readonly resources: readonly string[];
    readonly permissions: readonly string[];
  };
  /** What it reads on the public interface. */
  readonly access: RecordAccess;
  readonly creator: { readonly id: string; readonly email: string; readonly name: string };
  /** Null when the creator left the organization: the key then works on the public interface only. */
  readonly role: {
    readonly id: string;
    readonly name: string;
    readonly builtIn: boolean;
    readonly permissions: readonly string[];
  } | null;
  /** Upper limit: the permissions it had when it was reassigned to another person; null when it never was. */
  readonly ceiling: readonly string[] | null;
  /** When this secret stops working; null when it has no end. */
  readonly expiresAt: Date | null;
  /** Of a token of the key: its subject, empty for none. The rest is then what the token may do. */
  readonly tokenSubject?: string;
  /** Whether its use was recorded within the last minute. */
  readonly useRecorded: boolean;
};

type FoundRow = {
  id: string;
  organization_id: string;
  organization_slug: string;
  organization_name: string;
  reads: AccessLayer;
  unmasked: boolean;
  scope_permissions: string[];
  expires_at: Date | null;
  user_id: string;
  user_email: string;
  user_name: string;
  role_id: string | null;
  role_name: string | null;
  role_built_in: boolean | null;
  role_permissions: string[] | null;
  ceiling: string[] | null;
  use_noted: boolean;
};

/** The active key; undefined when malformed, unknown, revoked, or expired by the database's clock. */
export async function findApiKey(ctx: Pick<Ctx, 'db'>, secret: string): Promise<FoundApiKey | undefined> {
  if (!hasApiKeyFormat(secret)) return undefined;
  const { rows } = await ctx.db.control.raw<{ rows: FoundRow[] }>(
    'select * from find_api_key(?) where revoked_at is null and (expires_at is null or expires_at > seen_at)',
    [hashApiKey(secret)],
  );
  const row = rows[0];
  return row && toFoundKey(row);
}

export type TokenKeyReference = {
  readonly apiKeyId: string;
  /** SHA-256 of the stored hash of the secret that minted the token: see `secretMark`. */
  readonly mark: Buffer;
  /** The person who minted it; null for the key itself. */
  readonly mintedBy: string | null;
  /** Empty for a token without one. */
  readonly subject: string;
};

export type TokenKey = {
  readonly key: FoundApiKey;
  /** When tokens of the subject, and of any subject, were last revoked; null when they never were. */
  readonly subjectRevokedAt: Date | null;
  readonly anyRevokedAt: Date | null;
};

/**
 * The active key behind a token, and when tokens were last revoked. Undefined when the secret that minted the
 * token is replaced or has ended, the key is revoked, or the person who minted it is no longer a member.
 */
export async function findTokenKey(
  ctx: Pick<Ctx, 'db'>,
  { apiKeyId, mark, mintedBy, subject }: TokenKeyReference,
): Promise<TokenKey | undefined> {
  const { rows } = await ctx.db.control.raw<{
    rows: (FoundRow & { subject_revoked_at: Date | null; any_revoked_at: Date | null })[];
  }>(
    'select * from find_token_key(?, ?, ?, ?) where revoked_at is null and (expires_at is null or expires_at > seen_at)',
    [apiKeyId, mark, mintedBy, subject],
  );
  const row = rows[0];
  return (
    row && {
      key: toFoundKey(row),
      subjectRevokedAt: row.subject_revoked_at,
      anyRevokedAt: row.any_revoked_at,
    }
  );
}

function toFoundKey(row: FoundRow): FoundApiKey {
  return {
    id: row.id,
    organization: { id: row.organization_id, slug: row.organization_slug, name: row.organization_name },
    scopes: {
      versions: row.reads.versions,
      resources: row.reads.resources,
      permissions: row.scope_permissions,
    },
    access: { layers: [row.reads], unmasked: row.unmasked },
    creator: { id: row.user_id, email: row.user_email, name: row.user_name },
    role:
      row.role_id === null
        ? null
        : {
            id: row.role_id,
            name: row.role_name ?? '',
            builtIn: row.role_built_in ?? false,
            permissions: row.role_permissions ?? [],
          },
    ceiling: row.ceiling,
    expiresAt: row.expires_at,
    useRecorded: row.use_noted,
  };
}

/**
 * Records that the key was used, at most once a minute, and not while the service moves to another database.
 * Runs in the background and never rejects.
 */
export function recordApiKeyUse(
  ctx: Pick<Ctx, 'db' | 'log'>,
  key: Pick<FoundApiKey, 'id' | 'organization' | 'useRecorded'>,
): void {
  if (key.useRecorded) return;
  ctx.db.control
    .transaction(async (tx) => {
      const { rows } = await tx.raw<{ rows: { moving: boolean }[] }>(
        `select set_config('portal.organization_id', ?, true), ${isMovingSql}`,
        [key.organization.id],
      );
      // The update would hold a connection for as long as the move locks the table.
      if (rows[0]?.moving === true) return;
      await tx.raw(
        "update api_keys set last_used_at = now() where id = ? and (last_used_at is null or last_used_at < now() - interval '1 minute')",
        [key.id],
      );
    })
    .catch((error: unknown) => ctx.log.warn({ err: error }, 'could not record the use of an API key'));
}
