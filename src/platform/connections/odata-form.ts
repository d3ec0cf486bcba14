// What OData services have of their own in the management interface: their addresses, and three ways to sign in.
import { isDeepStrictEqual } from 'node:util';
import { findAddressProblem, type SignInSecrets } from '../../connectors/http/sign-in.ts';
import type { OdataDialect, OdataSettings } from '../../connectors/odata/connection.ts';
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid } from '../../core/errors.ts';
import type { Tx } from '../../db/transaction.ts';
import type { ConnectionForm } from './connection-form.ts';
import type { ConnectionRow } from './connections.store.ts';

const secretOf = {
  oauth2: 'clientSecret',
  basic: 'password',
  header: 'headerValue',
} as const satisfies Record<OdataSettings['signIn']['method'], string>;

/** Four characters of a shorter secret would reveal too much. */
const minHintedLength = 16;

/** Where a secret is sent and whose it is: it is sent nowhere else. */
const audienceOf = ({ serviceRoot, signIn }: OdataSettings) => ({
  host: URL.parse(serviceRoot)?.origin,
  ...signIn,
  ...{ scope: null, audience: null },
});

/** The given secret, or the stored one when none is given. Throws 422 `secrets_needed`. */
function chooseSecrets(
  settings: OdataSettings,
  secrets: SignInSecrets | undefined,
  before: ConnectionRow | undefined,
) {
  const { method } = settings.signIn;
  const name = secretOf[method];
  const given = Object.entries(secrets ?? {}).find(([key]) => key === name)?.[1];
  if (given !== undefined)
    return {
      secrets: { [name]: given },
      hint: given.length >= minHintedLength ? given.slice(-4) : null,
    };
  const isSame =
    before?.kind === 'odata' && isDeepStrictEqual(audienceOf(before.settings), audienceOf(settings));
  if (secrets === undefined && isSame && before.secrets !== null)
    return { secrets: 'kept' as const, hint: before.secret_hint };
  const message = `Send secrets.${name} for the sign-in ${method}, as whenever its addresses or its name change`;
  throw invalid('The secret is required', [{ path: 'secrets', code: 'secrets_needed', message }]);
}

function assertAddress(ctx: RequestCtx, path: string, address: string): void {
  const problem = findAddressProblem(address, ctx.settings.erp.allowedHosts);
  if (problem !== null)
    throw invalid('The address is not allowed', [{ path, code: 'host_not_allowed', message: problem }]);
}

const products: readonly (readonly [address: RegExp, dialect: OdataDialect])[] = [
  [/^https:\/\/api\.businesscentral\.dynamics\.com\//i, 'businessCentral'],
  [/^https:\/\/[\w.-]+\.(?:operations|cloudax|axcloud)\.dynamics\.com\//i, 'dynamics365'],
  [/^https:\/\/[\w.-]+\.s4hana\.(?:cloud\.sap|ondemand\.com)\//i, 'sap'],
  [/\/api\/odata\/dac(?:\/|$)/i, 'acumatica'],
];
/** The one that was chosen, or that of a product whose address is certain. */
const findDialect = ({ dialect, serviceRoot }: OdataSettings): OdataDialect =>
  dialect === 'generic' ? (products.find(([address]) => address.test(serviceRoot))?.[1] ?? dialect) : dialect;

function assertCompany(dialect: OdataDialect, company: OdataSettings['company']): void {
  const isField = company?.in === 'query' && company.name === 'dataAreaId';
  if (dialect !== 'dynamics365' || company === null || isField) return;
  const message = 'Send {"in":"query","name":"dataAreaId","value":"<company>"}';
  throw invalid('Dynamics 365 has companies in its records', [
    { path: 'settings.company', code: 'data_area', message },
  ]);
}

/** Names the account; records by another key are other records. */
function toAccount({ serviceRoot, tenant, company, entitySets }: OdataSettings): string {
  const keyFields = Object.entries(entitySets)
    .flatMap(([set, { keyField }]) => (keyField === undefined ? [] : [[set, keyField]]))
    .sort();
  const address = serviceRoot.replace(/\/+$/, '');
  return JSON.stringify([address, tenant, company, ...(keyFields.length > 0 ? [keyFields] : [])]);
}

/** Throws 422 for an address or a company that isn't allowed, and for missing secrets. */
async function prepare(
  _tx: Tx,
  ctx: RequestCtx,
  _name: string,
  given: { readonly settings: OdataSettings; readonly secrets: SignInSecrets | undefined },
  before: ConnectionRow | undefined,
) {
  const settings = { ...given.settings, dialect: findDialect(given.settings) };
  const { serviceRoot, company, signIn, dialect } = settings;
  assertCompany(dialect, company);
  assertAddress(ctx, 'settings.serviceRoot', serviceRoot);
  if (signIn.method === 'oauth2') assertAddress(ctx, 'settings.signIn.tokenUrl', signIn.tokenUrl);
  const secrets = chooseSecrets(settings, given.secrets, before);
  return { account: toAccount(settings), settings, ...secrets, audit: {} };
}

export const odataForm: ConnectionForm<OdataSettings, SignInSecrets | undefined> = {
  prepare,
  isSameAccount: (one, other) => one === other,
  accountField: 'settings.serviceRoot',
  hasCredentials: ({ secrets }) => secrets !== null,
};
