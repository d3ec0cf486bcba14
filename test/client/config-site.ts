// Organizations for the configuration as code: one with objects of every kind, and others that lack them; the
// command line as a function and as a process; and a gateway that counts requests, and fails when asked to.
import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { UsageError } from '../../packages/client/src/cli/settings.ts';
import { runConfig } from '../../packages/client/src/config/command.ts';
import type { Server } from '../contract/http.ts';
import { loadCompany, settings as portalSettings } from '../portal/company.ts';
import type { Answer, Api, Method } from '../setup/api.ts';
import { makePerson } from '../setup/organization.ts';
import { createScratchFolder } from '../setup/scratch-folder.ts';
import { listenLocally } from '../setup/sockets.ts';
import type { Organization, OrganizationSite } from '../setup/use-organization.ts';

const fields = (...names: string[]) => names.map((name) => ({ name, source: name }));
const invoicesEndpoint = {
  ...{ name: 'invoices', recordType: 'invoice', description: 'Rechnungen – 请款单' },
  fields: [...fields('tranid', 'trandate', 'total', 'status'), { name: 'customer', source: 'entity' }],
  filters: [{ field: 'status', operators: ['eq', 'not'] }],
  sorts: ['trandate', 'total'],
};
const customersEndpoint = { name: 'customers', recordType: 'customer', fields: fields('name') };
export const endpoints = [invoicesEndpoint];

const customers = [{ id: 1, name: 'Aster', email: 'orders@aster.example', isinactive: false }];
const invoices = [1, 2, 3].map((id) => ({
  ...{ id, tranid: `INV-${id}`, trandate: '2026-01-15', duedate: '2026-02-15', total: id, unpaid: 1 },
  ...{ entity: 1, status: 'open' },
}));

export type Site = Organization & { readonly people: readonly string[] };

/** Records, a connection to the ERP, a key named "Partner", and people, who are the same in all organizations. */
export async function openConfigSite(org: OrganizationSite, given?: { name: string }): Promise<Site> {
  const site = await org.another(given);
  await org.erp.connect(site.api);
  await call(site.api, 'post', '/netsuite/metadata/refresh');
  await loadCompany(org.ctx, site.id, { customers, contacts: [], invoices });
  const people = [];
  for (const email of ['zoe@people.example', 'ada@people.example']) {
    const { id } = await makePerson(org.ctx, email);
    await site.sql((tx) =>
      tx('memberships').insert({ organization_id: site.id, user_id: id, role_id: site.role('viewer') }),
    );
    people.push(id);
  }
  await call(site.api, 'post', '/api-keys', { name: 'Partner "Ö"' });
  await site.sql((tx) =>
    tx('portal_sign_in').insert({
      ...{ organization_id: site.id, issuer: 'https://login.acme.example', client_id: 'portal' },
      ...{ client_secret: `sealed-${site.id}`, label: 'Acme' },
    }),
  );
  return { ...site, people };
}

/** The body of an answer that must be a success. */
export async function call(api: Api, method: Method, at: string, body?: unknown): Promise<Answer['body']> {
  const answer = await api(method, at, body);
  expect([answer.status, answer.status < 300 || answer.text]).toEqual([answer.status, true]);
  return answer.body;
}

async function makePublished(org: OrganizationSite, api: Api): Promise<void> {
  const { id, revision } = await call(api, 'post', '/api-schema', { name: 'Öffentlich', endpoints });
  await call(api, 'post', `/api-schema/${id}/publish`, { revision });
  await org.ctx.work.waitUntilIdle('publications');
}

async function makePortal(api: Api, viewId: string): Promise<void> {
  const create = (at: string, body: object) => call(api, 'post', at, body);
  const label = { source: 'total', label: 'Betrag', position: 1 };
  await create('/portal/field-mappings', { recordType: 'invoice', fields: [label] });
  const { id } = await create('/portal/pages', {
    ...{ slug: 'offene-posten', title: 'Offene Posten' },
    blocks: [
      { type: 'heading', level: 1, text: 'Grüße' },
      { type: 'view', viewId },
    ],
  });
  const children = [
    { label: 'Posten', kind: 'view', target: viewId },
    { label: 'Seite', kind: 'page', target: id },
    { label: 'Hilfe', kind: 'link', target: 'https://help.acme.example/' },
  ];
  await call(api, 'put', '/portal/sidebar', { items: [{ label: 'Konto', kind: 'group', children }] });
  await call(api, 'put', '/portal/access', { ...portalSettings, languages: ['de', 'en'] });
  const legalLinks = [{ label: 'Impressum', url: 'https://acme.example/impressum' }];
  await call(api, 'put', '/portal/branding', { name: 'Acme GmbH', legalLinks, accent: '#1a5fb4' });
  const mapping = { recordType: 'invoice', number: 'tranid', amountDue: 'unpaid', customer: 'entity' };
  await call(api, 'put', '/pay/config', { provider: 'sandbox', currency: 'EUR', invoices: mapping });
}

/** One or more objects of every kind. Returns the secrets that were shown. */
export async function makeSetUp(org: OrganizationSite, { api, at, people, keyId }: Site & { keyId: string }) {
  const create = (path: string, body: object) => call(api, 'post', path, body);
  await create(`${at}/roles`, {
    name: 'Prüfer "审计"',
    permissions: ['view:read', 'record:read', 'audit:read'],
  });
  await create(`${at}/roles`, { name: 'a', description: 'Z', permissions: [] });
  const team = await create('/teams', { name: 'Finanzen & Co. <β>' });
  for (const userId of people) await create(`/teams/${team.id}/members`, { userId });
  await create('/netsuite/queries', {
    ...{ name: 'open_balances', label: 'Offen', keyColumn: 'number' },
    query: `SELECT t.id AS number, t.entity AS customer FROM transaction t WHERE t.type = 'CustInvc'`,
  });
  const schedule = { schedule: '15 5 * * 1-5', timezone: 'Europe/Zurich', enabled: false };
  const recipients = ['zoe@people.example', 'Ada@people.example'];
  await create('/sync-configs', { ...schedule, name: 'Kunden', recordType: 'customer', freshnessTarget: 90 });
  const narrow = { fields: ['tranid', 'trandate', 'total', 'status', 'entity', 'duedate', 'unpaid'] };
  await create('/sync-configs', {
    ...{ ...narrow, name: 'Rechnungen', recordType: 'invoice', alertRecipients: recipients, enabled: false },
  });
  await makePublished(org, api);
  await create('/api-schema', { name: 'Entwurf', notes: 'Noch nicht', endpoints: [customersEndpoint] });
  const filters = [{ field: 'status', operator: 'eq', value: ['open', 'überfällig'] }];
  const view = await create('/views', {
    ...{ name: 'Offene "Posten"', recordType: 'invoice', columns: ['tranid', 'total', 'unpaid'], filters },
    ...{ visibility: 'organization', summary: { groups: [{ field: 'status' }] } },
  });
  const ofTeam = { name: 'Team', recordType: 'invoice', columns: ['tranid'], visibility: 'team' };
  await create('/views', { ...ofTeam, teamId: team.id });
  await create('/views', { name: 'Meine', recordType: 'invoice', columns: ['tranid'] });
  const subject = 'Rechnungen {{ now }}';
  const { id } = await create('/portal/templates', {
    key: 'mahnung',
    kind: 'email',
    subject,
    body: '<b>é</b>',
  });
  await create('/portal/templates', { key: 'mahnung', kind: 'document', body: 'x' });
  const mailed = { viewId: view.id, schedule: '0 7 * * 1', recipients };
  await create('/subscriptions', { ...mailed, templateId: id });
  await create('/subscriptions', { ...mailed, format: 'csv', timezone: 'Europe/Berlin' });
  await create('/subscriptions', { ...mailed, format: 'csv', schedule: '0 8 1 * *' });
  const hook = { url: 'https://hooks.acme.example/portal', keyId };
  const watching = { ...hook, events: ['sync.failed', 'schema.retired'], description: 'Überwachung' };
  const one = await create('/webhooks', watching);
  const following = { ...hook, events: ['records.changed'], version: 'v1', include: 'records' };
  const other = await create('/webhooks', following);
  await makePortal(api, view.id);
  await org.ctx.work.waitUntilIdle('publications');
  return [one.secret, other.secret];
}

/** Answers instead of the service while it returns true; `passed`: the service has already answered. */
export type Interfere = (request: string, res: ServerResponse, passed: boolean) => boolean | Promise<boolean>;

/** A gateway in front of the service, which records what it was asked. */
export async function openGateway(server: Server) {
  const seen: string[] = [];
  let interfere: Interfere = () => false;
  const gateway = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const { method = '', url = '' } = req;
    const request = `${method} ${url.replace('/api/platform/v1', '')}`;
    seen.push(request);
    if (await interfere(request, res, false)) return;
    const names = ['authorization', 'content-type', 'idempotency-key', 'accept'];
    const headers = names.flatMap((name) => {
      const value = req.headers[name];
      return typeof value === 'string' ? [[name, value]] : [];
    });
    const body = chunks.length === 0 ? undefined : Buffer.concat(chunks).toString();
    const sent = { method, path: url, headers: Object.fromEntries(headers) as Record<string, string>, body };
    const answer = await server.send(sent);
    if (await interfere(request, res, true)) return;
    res.writeHead(answer.status, answer.headers).end(answer.text);
  });
  const port = await listenLocally(gateway);
  return {
    url: `http://127.0.0.1:${port}`,
    /** Those that may have changed something: validating saves nothing. */
    listWrites: () => seen.filter((each) => !each.startsWith('GET ') && !each.endsWith('/validate')),
    reset: () => seen.splice(0),
    interfere: (next: Interfere) => {
      interfere = next;
    },
    stop: () => gateway.close().closeAllConnections(),
  };
}

/** A folder with the file, in which commands run. */
export async function openConfigFolder() {
  const folder = await createScratchFolder('portal-config-');
  const file = path.join(folder, 'portal.config.json');
  const main = path.resolve('packages/client/src/cli/main.ts');
  /** The exit status, and what was printed. */
  const run = async (key: string, baseUrl: string, ...args: readonly string[]) => {
    const lines: string[] = [];
    const print = (line: string) => lines.push(line);
    try {
      const code = await runConfig([...args, '--file', file], () => ({ baseUrl, key }), print);
      return { code, text: lines.join('\n') };
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      return { code: 2, text: [...lines, error.message].join('\n') };
    }
  };
  return {
    file,
    run,
    /** The same as a process. */
    runProcess: (key: string, baseUrl: string, ...args: readonly string[]) =>
      promisify(execFile)(process.execPath, [main, 'config', ...args], {
        cwd: folder,
        env: { ...process.env, PORTAL_URL: baseUrl, PORTAL_KEY: key },
      }).then(
        ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
        ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
          code,
          stdout,
          stderr,
        }),
      ),
    read: () => readFile(file, 'utf8'),
    /** Writes the file, as text or after changing its content. */
    write: (text: string) => writeFile(file, text),
    change: async (edit: (document: Answer['body']) => void) => {
      const document = JSON.parse(await readFile(file, 'utf8'));
      edit(document);
      await writeFile(file, JSON.stringify(document));
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
