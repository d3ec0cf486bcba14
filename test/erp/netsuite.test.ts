// The connector for NetSuite, next to the tables of a simulated account.
import type pg from 'pg';
import { connectorKinds } from '../../src/connectors/kinds.ts';
import { accountId, startErp } from '../setup/erp.ts';
import { asSuperuser } from '../setup/superuser.ts';
import { describeErp, type ForeignErp } from './suite.ts';

async function start(): Promise<ForeignErp> {
  const { account, database, stop } = await startErp();
  const { consumerKey, consumerSecret, tokenId, tokenSecret } =
    await account.createTokenCredentials('Portal Service');
  const inLedger = <T>(work: (client: pg.Client) => Promise<T>): Promise<T> => asSuperuser(database, work);
  const query = (sql: string, ...values: unknown[]) =>
    inLedger(async (client) => (await client.query<{ id: string; name: string }>(sql, values)).rows);
  // The one that is left is what the others are made from.
  await query('delete from ledger.customer where id <> (select min(id) from ledger.customer)');
  return {
    ...{ url: account.url, kind: 'netsuite', kinds: connectorKinds },
    ...{ recordType: 'customer', column: 'f_companyname' },
    settings: (baseUrl) => ({
      ...{ accountId, baseUrl },
      authentication: { method: 'tba', consumerKey, tokenId },
    }),
    secrets: { consumerSecret, tokenSecret },
    wrongSecrets: { consumerSecret: 'guess', tokenSecret: 'guess' },
    create: async (names) =>
      (
        await query(
          `insert into ledger.customer select (jsonb_populate_record(null::ledger.customer, to_jsonb(c) || jsonb_build_object('id', m.last + n.at,
             'companyname', n.name, 'entityid', n.name, 'datecreated', now(), 'lastmodifieddate', now()))).*
           from (select * from ledger.customer order by id limit 1) c, (select max(id) as last from ledger.customer) m,
             unnest($1::text[]) with ordinality n(name, at) returning id::text as id`,
          names,
        )
      ).map(({ id }) => id),
    rename: (ids, name) =>
      query(
        'update ledger.customer set companyname = $2, lastmodifieddate = now() where id = any($1::bigint[])',
        ids,
        name,
      ),
    remove: (ids) =>
      query(
        `with gone as (delete from ledger.customer where id = any($1::bigint[]) returning id)
         insert into ledger.deletedrecord (recordid, type, deleteddate) select id, 'Customer', now() from gone`,
        ids,
      ),
    truth: async () =>
      new Map(
        (await query('select id::text as id, companyname as name from ledger.customer')).map(
          ({ id, name }) => [id, name],
        ),
      ),
    stop,
  };
}

describeErp('NetSuite', start, { renews: false });
