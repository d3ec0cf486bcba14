// What src/db/driver relies on inside knex. When this fails after an upgrade, change src/db/driver first.
import { Socket } from 'node:net';
import type { Knex } from 'knex';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openKnex } from '../../../src/db/connect.ts';
import { isConnectionLost, isConnectTimeout } from '../../../src/db/driver/error-messages.ts';
import { knexPoolUsage, onKnexConnection } from '../../../src/db/driver/knex-pool.ts';
import { RoutedClient } from '../../../src/db/routed-client.ts';
import { until } from '../../setup/until.ts';
import { useDatabase } from '../../setup/use-database.ts';

const database = useDatabase();
let socket: Socket;
let knex: Knex;

beforeEach(() => {
  socket = new Socket();
  knex = openKnex(database.address, null, 1, { stream: () => socket });
});
afterEach(() => knex.destroy());

const reworded = 'knex words this failure differently: see src/db/driver/error-messages.ts';
const catchMessage = (work: PromiseLike<unknown>): Promise<string> =>
  Promise.resolve(work).then(() => 'no error', String);

describe('knex', () => {
  it('passes pg the option `stream`', async () => {
    await knex.raw('select');
    expect(socket.bytesRead, 'knex no longer passes all options to pg: see openKnex').toBeGreaterThan(0);
  });

  it('opens its connections as objects of the class that it was given', async () => {
    const Class = await onKnexConnection(knex, async (connection) => connection.constructor);
    expect(Class, 'knex takes the class of its connections from elsewhere: see useClientClass').toBe(
      RoutedClient,
    );
  });

  it('has its pool in `client.pool`, which counts its connections', async () => {
    const changed = 'the pool of knex has changed: see knexPoolUsage';
    const tx = await knex.transaction();
    const waiting = knex.raw('select').then(() => undefined);
    const busy = await until(async () =>
      knexPoolUsage(knex).waiting === 1 ? knexPoolUsage(knex) : undefined,
    ).catch(() => undefined);
    expect(busy, changed).toEqual({ used: 1, idle: 0, waiting: 1 });
    await tx.rollback();
    await waiting;
    expect(knexPoolUsage(knex), changed).toEqual({ used: 0, idle: 1, waiting: 0 });
  });

  it('lends a connection of pg from its pool and takes it back', async () => {
    const changed = 'knex no longer lends its connections: see onKnexConnection';
    const pid = async (): Promise<unknown> => (await knex.raw('select pg_backend_pid() as pid')).rows[0].pid;
    const lent = await onKnexConnection(knex, async (connection) => {
      expect(knexPoolUsage(knex).used, changed).toBe(1);
      return (await connection.query('select pg_backend_pid() as pid')).rows[0]?.pid;
    });
    expect(await pid(), changed).toBe(lent);
    await expect(onKnexConnection(knex, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    expect(knexPoolUsage(knex), changed).toEqual({ used: 0, idle: 1, waiting: 0 });
  });

  it('reports a broken connection with the message of pg', async () => {
    await knex.raw('select');
    const running = catchMessage(knex.raw('select pg_sleep(60)'));
    await until(async () => knexPoolUsage(knex).used === 1);
    socket.destroy();
    expect(await running, reworded).toSatisfy(isConnectionLost);
  });

  it('reports that all its connections are in use by a message of its own', async () => {
    const hurried = openKnex(database.address, null, 1);
    const tx = await hurried.transaction();
    hurried.client.pool.acquireTimeoutMillis = 50;
    const message = await catchMessage(
      hurried.raw('select').catch((error: Error) => Promise.reject(error.message)),
    );
    await tx.rollback();
    await hurried.destroy();
    expect(message, reworded).toSatisfy(isConnectTimeout);
  });
});
