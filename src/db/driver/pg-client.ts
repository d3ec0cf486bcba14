// What node-postgres knows about a connection and doesn't offer in its interface. test/db/driver/pg.test.ts fails when a new version of pg
// changes it.
import type { PoolClient } from 'pg';

/** The process id of the connection's backend, as the server sent it; undefined when it sent none. */
export const backendPid = (client: PoolClient): number | undefined => (client as PoolClient & { readonly processID?: number }).processID;

/** The texts by the names of their statements: parsed, and sent to be parsed. */
type PreparedStatements = {
  readonly connection: {
    readonly parsedStatements: Record<string, string | undefined>;
    readonly submittedNamedStatements: Record<string, string | undefined>;
  };
};

/** Makes pg prepare the statement of this name again when it is next used. The caller deallocates it on the server. */
export function forgetPrepared(client: PoolClient, name: string): void {
  const { connection } = client as unknown as PreparedStatements;
  delete connection.parsedStatements[name];
  delete connection.submittedNamedStatements[name];
}
