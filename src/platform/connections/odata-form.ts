// What OData services have of their own in the management interface: their addresses, and three ways to sign in.
import { isDeepStrictEqual } from 'node:util';
import { findAddressProblem, type SignInSecrets } from '../../connectors/http/sign-in.ts';
import type { OdataSettings } from '../../connectors/odata/connection.ts';
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

/** Throws 422 for an address or a company that isn't allowed, and for missing secrets. */
async function prepare(
  _tx: Tx,
  ctx: RequestCtx,
  _name: string,
  { settings, secrets }: { readonly settings: OdataSettings; readonly secrets: SignInSecrets | undefined },
  before: ConnectionRow | undefined,
) {
  const { serviceRoot, tenant, company, signIn, dialect } = settings;
  if (
    dialect === 'dynamics365' &&
    company !== null &&
    (company.in !== 'query' || company.name !== 'dataAreaId')
  )
    throw invalid('Dynamics 365 has companies in its records', [
      {
        path: 'settings.company',
        code: 'data_area',
        message: 'Send {"in":"query","name":"dataAreaId","value":"<company>"}',
      },
    ]);
  const keyFields = Object.entries(settings.entitySets)
    .flatMap(([set, { keyField }]) => (keyField === undefined ? [] : [[set, keyField]]))
    .sort();
  assertAddress(ctx, 'settings.serviceRoot', serviceRoot);
  if (signIn.method === 'oauth2') assertAddress(ctx, 'settings.signIn.tokenUrl', signIn.tokenUrl);
  return {
    // Records by another key are other records.
    account: JSON.stringify([
      ...[serviceRoot.replace(/\/+$/, ''), tenant, company],
      ...(keyFields.length > 0 ? [keyFields] : []),
    ]),
    settings,
    ...chooseSecrets(settings, secrets, before),
    audit: {},
  };
}

export const odataForm: ConnectionForm<OdataSettings, SignInSecrets | undefined> = {
  prepare,
  isSameAccount: (one, other) => one === other,
  accountField: 'settings.serviceRoot',
  hasCredentials: ({ secrets }) => secrets !== null,
};
