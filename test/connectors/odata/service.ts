// What the tests of the OData connector share: a connector for a service at an address, and metadata.
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { Connector, RecordTypeMetadata } from '../../../src/connectors/connector.ts';
import type { SignInSecrets } from '../../../src/connectors/http/sign-in.ts';
import type { OdataSettings } from '../../../src/connectors/odata/connection.ts';
import { odata } from '../../../src/connectors/odata/connector.ts';
import { type Answer, createConnectorCtx, type Seen, signal } from '../netsuite/wire.ts';

export const readMetadata = (name: 'business-central' | 'purchase-order'): string =>
  readFileSync(new URL(`metadata/${name}.xml`, import.meta.url), 'utf8');

export const settingsFor = (url: string, more: Partial<OdataSettings> = {}): OdataSettings => ({
  serviceRoot: `${url}/api/`,
  dialect: 'generic',
  signIn: { method: 'basic', userName: 'reader' },
  tenant: null,
  company: null,
  pageSize: null,
  timeZone: 'UTC',
  entitySets: {},
  ...more,
});

export const createOdataAt = (
  url: string,
  more: Partial<OdataSettings> = {},
  {
    secrets = { password: 'secret' },
    ...options
  }: { secrets?: SignInSecrets } & Parameters<typeof createConnectorCtx>[0] = {},
): Connector =>
  odata.create(
    createConnectorCtx({ ...options, erp: { allowedHosts: ['127.0.0.1'], ...options.erp } }),
    settingsFor(url, more),
    secrets,
  );

/** A schema with these elements around an entity container with these elements. */
export const metadataWith = (types: string, sets: string): string =>
  `<edmx:Edmx Version="4.01" xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx"><edmx:DataServices>
  <Schema Namespace="ns" xmlns="http://docs.oasis-open.org/odata/ns/edm">${types}
  <EntityContainer Name="all">${sets}</EntityContainer></Schema></edmx:DataServices></edmx:Edmx>`;

export const sendText = (response: ServerResponse, status: number, type: string, text: string): void => {
  response.writeHead(status, { 'content-type': type }).end(text);
};

/** Answers `$metadata` with this, and other requests as `answer` does; by default, with no records. */
export const serving =
  (metadata: string, answer: Answer = () => ({ value: [] })): Answer =>
  (seen, response) => {
    if (!seen.path.includes('$metadata')) return answer(seen, response);
    sendText(response, 200, 'application/xml', metadata);
    return undefined;
  };

/** The query options of a request, decoded. */
export const optionsOf = ({ path }: Seen): Record<string, string> =>
  Object.fromEntries(new URL(path, 'http://odata').searchParams);

export async function describeOne(connector: Connector, name: string): Promise<RecordTypeMetadata> {
  const [recordType] = await connector.metadata(signal, [name]);
  if (recordType === undefined) throw new Error(`no record type ${name}`);
  return recordType;
}

/** Of every field that can be synced. */
export const fieldNames = ({ fields }: RecordTypeMetadata): string[] =>
  fields.filter(({ syncable }) => syncable).map(({ name }) => name);
