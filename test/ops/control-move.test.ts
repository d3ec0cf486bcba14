// The configuration moved between two databases: what it must take along, and what it refuses.
import type { Client, ClientBase } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createId } from '../../src/core/id.ts';
import { connectClient, openDb, poolConfig } from '../../src/db/connect.ts';
import { cancelControlMove, type Databases, moveControl } from '../../src/move/control-move.ts';
import { moveOrganizations } from '../../src/move/organization-moves.ts';
import { tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { makeOrganization } from '../setup/organization.ts';

const pace = { waitSeconds: 1, progress: () => undefined };
let former: TestDatabase;
let target: TestDatabase;
let clients: Client[];
let opened: TestDatabase[];
let databases: Databases;

const connect = async (
  { address }: TestDatabase,
  role: 'portal_owner' | 'portal_service' = 'portal_owner',
): Promise<Client> => {
  const client = await connectClient(poolConfig(address, role))();
  clients.push(client);
  return client;
};
const openDatabases = async (from: TestDatabase, to: TestDatabase): Promise<Databases> => ({
  source: await connect(from),
  target: await connect(to),
  names: { source: from.address.database, target: to.address.database },
});
const openServers = async (from: TestDatabase, to: TestDatabase, control: ClientBase) => ({
  source: await connect(from, 'portal_service'),
  target: await connect(to, 'portal_service'),
  control,
});

beforeEach(async () => {
  clients = [];
  [former, target] = [await testDatabase(), await testDatabase()];
  opened = [former, target];
  databases = await openDatabases(former, target);
});
afterEach(async () => {
  await Promise.all(clients.map((client) => client.end()));
  await Promise.all(opened.map((database) => database.close()));
});

describe('moveControl', () => {
  it('takes along a failover of the former server that no one has noted yet', async () => {
    const { id } = await makeOrganization(former.ctx);
    const { source } = databases;
    await source.query("insert into server_timelines (timeline) values ('000000AA')");
    await source.query(
      `insert into outgoing_mails (id, organization_id, kind, recipient, message_id, subject, body, timeline)
       values ($1, $2, 'test', 'a@example.test', 'one@example.test', 'Maybe sent', 'text', '000000AA')`,
      [createId(), id],
    );
    await moveControl(databases, pace);
    const { rows } = await databases.target.query(
      'select status, commits_may_be_lost() as lost from outgoing_mails',
    );
    expect(rows).toEqual([{ status: 'unknown', lost: true }]);
  });

  it('refuses a database some of whose organizations are still on another server', async () => {
    const { id } = await makeOrganization(former.ctx);
    await databases.source.query("update organizations set warehouse = 'former' where id = $1", [id]);
    await expect(moveControl(databases, pace)).rejects.toThrow('are still on another server');
    expect((await databases.source.query('select from control_moves')).rowCount).toBe(0);
  });

  it('refuses another new database until the move that was begun is cancelled', async () => {
    await makeOrganization(former.ctx);
    const third = await testDatabase();
    opened.push(third);
    // As an interruption between the copy and the mark leaves it.
    const id = createId();
    await databases.source.query("insert into control_moves (id, side, other) values ($1, 'from', $2)", [
      id,
      databases.names.target,
    ]);
    await databases.target.query("insert into control_moves (id, side, other) values ($1, 'to', $2)", [
      id,
      databases.names.source,
    ]);
    const others = await openDatabases(former, third);
    await expect(moveControl(others, pace)).rejects.toThrow(`to ${databases.names.target} has begun`);
    expect(await cancelControlMove(databases)).toBe(true);
    expect(await moveControl(others, pace)).toBeGreaterThan(0);
    await expect(moveControl(databases, pace)).rejects.toThrow('was moved to another database');
  });

  it('refuses a new database that processes use already', async () => {
    const presence = { name: 'early:1', keyFingerprints: [] };
    const db = openDb(target.service, target.service, { control: 1, data: 1 }, 1_000, { presence });
    await db.announce();
    try {
      await expect(moveControl(databases, pace)).rejects.toThrow('early:1');
    } finally {
      await db.close();
    }
    expect(await moveControl(databases, pace)).toBeGreaterThan(0);
  });
});

describe('moveOrganizations', () => {
  it('does not count an organization as moved whose records are not on the former server', async () => {
    const { id, slug } = await makeOrganization(former.ctx);
    await moveControl(databases, pace);
    const servers = await openServers(former, target, databases.target);
    await servers.source.query(`drop schema ${tenantSchema(id)} cascade`);
    const { moved, failed } = await moveOrganizations(servers, pace.progress);
    expect([moved, failed]).toEqual([[], [{ id, slug, reason: expect.stringContaining('has no tables') }]]);
    const { rows } = await databases.target.query('select warehouse from organizations');
    expect(rows).toEqual([{ warehouse: 'moving' }]);
  });

  it('drops the copy of an organization that was deleted while the command was interrupted', async () => {
    const { id } = await makeOrganization(former.ctx);
    await moveControl(databases, pace);
    const servers = await openServers(former, target, databases.target);
    // The copy is complete, and its organization is deleted before it counts.
    await servers.target.query(`create schema ${tenantSchema(id)}`);
    await databases.target.query('delete from organizations where id = $1', [id]);
    expect(await moveOrganizations(servers, pace.progress)).toMatchObject({
      moved: [],
      failed: [],
      dropped: 1,
    });
    const there = 'select to_regnamespace($1) is null as absent';
    for (const client of [servers.source, servers.target])
      expect((await client.query(there, [tenantSchema(id)])).rows).toEqual([{ absent: true }]);
  });
});
