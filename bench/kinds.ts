// The first load of as many customers with ten fields, by OData from a simulated Business Central and by SuiteQL from a
// simulated NetSuite account, in turns; each ERP is in a process of its own.
// Usage: npm run bench -- kinds [records] [rounds]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { Pool } from 'pg';
import { z } from 'zod';
import { createManagementClient, type ManagementCall } from '../demo/management-client.ts';
import { connectNetsuite } from '../demo/set-up.ts';
import { shippedData } from '../demo/shipped-data.ts';
import { readConfig } from '../src/config.ts';
import { inTransaction } from '../src/db/transaction.ts';
import { openDatabase } from '../src/open-database.ts';
import { type Service, startService } from '../src/service.ts';
import { startErpProcess } from './erp-process.ts';
import { createBenchOrganization } from './organization.ts';
import { describeMachine, type Line, median, toLine, writeTable } from './table.ts';
import { withWorkspace } from './workspace.ts';

const accountId = 'TSTDRV1234567';
const [records, rounds] = [Number(process.argv[2] ?? 100_000), Number(process.argv[3] ?? 3)];
const Identified = z.object({ id: z.string() });
const Simulated = z.object({
  serviceRoot: z.string(),
  companyPath: z.string(),
  credentials: z.object({
    tokenUrl: z.string(),
    clientId: z.string(),
    clientSecret: z.string(),
    scope: z.string(),
  }),
});
type Kind = { readonly recordType: string; readonly fields: readonly string[] };
const kinds: Readonly<Record<'odata' | 'netsuite', Kind>> = {
  odata: {
    recordType: 'bc:customers',
    fields: [
      ...['number', 'displayName', 'addressLine1', 'city', 'phoneNumber', 'email', 'currencyCode', 'blocked'],
      ...['taxLiable', 'lastModifiedDateTime'],
    ],
  },
  netsuite: {
    recordType: 'customer',
    fields: [
      ...['entityid', 'companyname', 'email', 'phone', 'url', 'defaultcountry', 'currency', 'isinactive'],
      ...['datecreated', 'lastmodifieddate'],
    ],
  },
};

async function startOData() {
  const main = path.join(import.meta.dirname, '../packages/odata-simulator/src/main.ts');
  const ports = ['--port', '0', '--token-port', '0', '--control-port', '0'];
  const child = spawn(process.execPath, [main, ...ports, '--generate', `customers=${records}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  for await (const part of child.stdout) {
    text += String(part);
    if (text.trimEnd().endsWith('}') && text.includes('serviceRoot')) break;
  }
  return {
    ...Simulated.parse(JSON.parse(text)),
    stop: async () => {
      const exited = once(child, 'exit');
      child.kill();
      await exited;
    },
  };
}

/** The account has as many customers as there are to be, like the first of them. */
async function addCustomers(connection: { readonly [name: string]: unknown }): Promise<void> {
  const pool = new Pool({ ...connection, database: 'netsuite_account', max: 1 });
  await pool.query(
    `insert into ledger.customer select (jsonb_populate_record(null::ledger.customer, to_jsonb(c) || jsonb_build_object('id', m.last + n,
       'entityid', 'C' || n, 'companyname', 'Company ' || n))).* from (select * from ledger.customer order by id limit 1) c,
       (select max(id) as last, count(*) as present from ledger.customer) m, generate_series(1, $1::int - m.present) n`,
    [records],
  );
  await pool.query('analyze ledger.customer');
  await pool.end();
}

type Load = { readonly seconds: number; readonly peakMegabytes: number; readonly requests: number };

/** Reads all records from the first page on, and watches the memory of this process. */
async function load(
  service: Service,
  organizationId: string,
  call: ManagementCall,
  id: string,
): Promise<Load> {
  let peak = 0;
  const sampler = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 20);
  const startedMs = performance.now();
  const run = await call('POST', `/sync-configs/${id}/trigger`, Identified, { mode: 'full' });
  for (;;) {
    const row = await inTransaction({ db: service.ctx.db, organizationId }, (tx) =>
      tx('sync_runs').where({ id: run.id }).first('status', 'requests', 'error', 'counts'),
    );
    if (row?.status === 'succeeded') {
      clearInterval(sampler);
      const seconds = (performance.now() - startedMs) / 1_000;
      return { seconds, peakMegabytes: peak / 1_048_576, requests: row.requests };
    }
    if (['failed', 'partial', 'cancelled'].includes(row?.status))
      throw new Error(`The run is ${row.status}: ${JSON.stringify([row.error, row.counts])}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

type Servers = { readonly service: Service; readonly odata: Awaited<ReturnType<typeof startOData>> };
type Account = Parameters<typeof connectNetsuite>[1];

/** A new organization, so that each load is a first one. */
async function loadOf(
  kind: keyof typeof kinds,
  { service, odata }: Servers,
  account: Account,
): Promise<Load> {
  const { id, key } = await createBenchOrganization(service.ctx);
  const call = createManagementClient(service.url, key);
  await connectNetsuite(call, account);
  const { serviceRoot, companyPath, credentials } = odata;
  const { clientSecret, ...client } = credentials;
  const { tokenUrl, clientId, scope } = client;
  await call('POST', '/connections', z.unknown(), {
    ...{ name: 'bc', kind: 'odata', secrets: { clientSecret } },
    settings: {
      ...{ serviceRoot, dialect: 'businessCentral' },
      company: { in: 'path', segment: companyPath.replace(/\/$/, '') },
      signIn: { method: 'oauth2', tokenUrl, clientId, scope, audience: null },
    },
  });
  for (const name of ['netsuite', 'bc'])
    await call('POST', `/connections/${name}/metadata/refresh`, z.unknown());
  const { recordType, fields } = kinds[kind];
  const config = await call('POST', '/sync-configs', Identified, { name: kind, recordType, fields });
  return load(service, id, call, config.id);
}

type Loads = Record<keyof typeof kinds, Load[]>;

function toLines(loads: Loads): Line[] {
  const rates = (kind: keyof typeof kinds) => loads[kind].map(({ seconds }) => records / seconds);
  const ratios = rates('odata').map((rate, index) => rate / (rates('netsuite')[index] ?? Number.NaN));
  const of = (kind: keyof typeof kinds, value: 'peakMegabytes' | 'requests') =>
    loads[kind].map((one) => one[value]);
  const target = Math.round(median(of('netsuite', 'peakMegabytes')));
  return [
    toLine('first load by OData, records/s', rates('odata'), '', 0),
    toLine('first load by SuiteQL, records/s', rates('netsuite'), '', 0),
    toLine('rate by OData, of that by SuiteQL', ratios, '', 2, { target: 0.8, floor: 0.8 }),
    toLine('peak memory of the service by OData', of('odata', 'peakMegabytes'), ' MB', 0, {
      ...{ target, floor: 250, lowerIsBetter: true },
    }),
    toLine('peak memory of the service by SuiteQL', of('netsuite', 'peakMegabytes'), ' MB', 0),
    toLine('requests by OData', of('odata', 'requests'), '', 0),
    toLine('requests by SuiteQL', of('netsuite', 'requests'), '', 0),
  ];
}

async function main(dataDir: string): Promise<boolean> {
  const opened = await openDatabase({ DATA_DIR: dataDir });
  if (opened.embedded === undefined) throw new Error('The benchmark needs the embedded PostgreSQL');
  const { connection } = opened.embedded;
  const account = await startErpProcess({
    ...{ admin: connection, database: 'netsuite_account', dataFolder: shippedData, accountId },
  });
  await addCustomers(connection);
  const odata = await startOData();
  const hosts = [account.url, odata.serviceRoot, odata.credentials.tokenUrl].map((url) => new URL(url).host);
  const environment = { PORT: '0', DATA_DIR: dataDir, LOG_LEVEL: 'warn', RATE_LIMIT_PER_MINUTE: '10000' };
  const erp = { ALLOW_PRIVATE_ERP_HOSTS: 'true', ALLOWED_ERP_HOSTS: hosts.join() };
  const service = await startService(readConfig({ ...environment, ...erp }), opened);
  const admin = new Pool(connection);
  try {
    const loads: Loads = { odata: [], netsuite: [] };
    for (let round = 0; round < rounds; round += 1)
      for (const kind of ['netsuite', 'odata'] as const)
        loads[kind].push(await loadOf(kind, { service, odata }, account));
    const heading = `Run of ${new Date().toISOString().slice(0, 10)}: ${records} records, ${rounds} rounds.\n${await describeMachine(admin)}`;
    return await writeTable('kinds', heading, toLines(loads));
  } finally {
    await admin.end();
    await service.stop();
    await account.stop();
    await odata.stop();
    await opened.embedded.stop();
  }
}

await withWorkspace(main);
