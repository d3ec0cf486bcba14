// Failures that node-postgres and knex report by their message alone: these errors have no code. knex puts
// the statement before the message of pg, so no pattern is anchored to its start. The tests in test/db/driver
// fail when a new version words them differently.

/** Citus reports that a connection to another node, kept open until then, failed; the transaction is lost. */
export const isNodeConnectionLost = (message: string): boolean =>
  /failure on connection marked as essential/.test(message);

/** The connection broke before or during the statement: ours, or one between the nodes of a cluster. */
export const isConnectionLost = (message: string): boolean =>
  /Connection terminated|connection error and is not queryable/.test(message) ||
  isNodeConnectionLost(message);

/** The client was used after it had been closed. */
export const isClientClosed = (message: string) => /Client was closed and is not queryable/.test(message);

/** No connection in time: the server accepted but didn't respond, or the pool has none to spare. */
export const isConnectTimeout = (message: string): boolean =>
  /^timeout expired$|timeout exceeded when trying to connect|Timeout acquiring a connection/.test(message);

/** As pg reports it when its own limit for connecting has passed. */
export const connectTimeout = (): Error => new Error('timeout expired');
