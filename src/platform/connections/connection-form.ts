// What each kind of ERP decides for itself when a connection is entered.
import type { RequestCtx } from '../../core/ctx.ts';
import type { Tx } from '../../db/transaction.ts';
import type { CertificateRow, ConnectionRow } from './connections.store.ts';

/** `secrets`: null where the kind has none of its own, `kept` for those that are stored. */
export type PreparedConnection = {
  /** Names the account: records of two accounts never mix. */
  readonly account: string;
  readonly settings: object;
  readonly secrets: object | null | 'kept';
  /** The last characters of the secret that a person recognizes it by; null for none. */
  readonly hint: string | null;
  /** What the audit log has besides the settings. */
  readonly audit: object;
};

export type ConnectionForm<Settings, Secrets> = {
  /** Throws 422 for what can't be stored. `before`: the connection as it is; undefined for a new one. */
  prepare(
    tx: Tx,
    ctx: RequestCtx,
    name: string,
    given: { readonly settings: Settings; readonly secrets: Secrets },
    before: ConnectionRow | undefined,
  ): Promise<PreparedConnection>;
  isSameAccount(one: string, other: string): boolean;
  /** The setting that names the account. */
  readonly accountField: string;
  hasCredentials(row: ConnectionRow, certificates: readonly CertificateRow[]): boolean;
};
