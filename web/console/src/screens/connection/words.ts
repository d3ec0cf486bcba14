// Connections in words, and which steps of setting one up are open.
import { kinds } from 'virtual:connection-kinds';
import type { Kind } from '../../../connection-kinds.ts';
import { type Answer, api, type paths } from '../../api.ts';
import { keep } from '../../kept.ts';
import type { Connection } from '../../parts/connections.ts';
import { invalidate } from '../../query.ts';
import { base, go } from '../../router.ts';
import { may } from '../../session.ts';

export type { Connection };
export type Netsuite = Extract<Connection, { kind: 'netsuite' }>;
export type Certificate = Netsuite['certificates'][number];
export type TestReport = Answer<'/connections/{connection}/test', 'post'>;
type Input = paths['/connections']['post']['requestBody']['content']['application/json'];
/** With `name` for a new connection. */
export type Entered = Pick<Input, 'kind' | 'settings'> & {
  readonly name?: string;
  readonly secrets?: object;
};

export const findKind = (name: string | null): Kind | undefined => kinds.find(({ kind }) => kind === name);
export const titleOf = ({ kind }: { readonly kind: string }): string => findKind(kind)?.title ?? kind;

const stepTitles = {
  settings: 'Settings',
  certificate: 'Certificate',
  test: 'Test',
} as const;
export type Step = keyof typeof stepTitles;
export const titleStep = (kind: string, step: Step): string =>
  kind === 'netsuite' && step === 'settings' ? 'Account' : stepTitles[step];
export const isStep = (text: string | null): text is Step => text !== null && Object.hasOwn(stepTitles, text);

export const listAddress = `${base}/connection`;
/** Of the form for a new connection; without a kind, of the choice of kinds. */
export const addAddress = (kind = 'any'): string => `${listAddress}?add=${kind}`;
export const addressOf = (name: string, step?: Step): string =>
  `${listAddress}/${name}${step === undefined ? '' : `?step=${step}`}`;

/** Only NetSuite has certificates; tokens need none. */
export function listConnectionSteps(kind: string, connection: Connection | null): readonly Step[] {
  const isTba = connection?.kind === 'netsuite' && connection.settings.authentication.method === 'tba';
  return kind !== 'netsuite' || isTba ? ['settings', 'test'] : ['settings', 'certificate', 'test'];
}

/** The first step that isn't done; null once the service has all that it needs to sign in. */
export function openStep(connection: Connection): Step | null {
  if (connection.hasCredentials) return null;
  return listConnectionSteps(connection.kind, connection).includes('certificate')
    ? 'certificate'
    : 'settings';
}

/**
 * The certificate that the person works on: the one that waits for its id, otherwise the one that signs in.
 */
export const currentCertificate = ({ certificates }: Connection): Certificate | undefined =>
  certificates.find(({ certificateId }) => certificateId === null) ??
  certificates.find(({ active }) => active) ??
  certificates[0];

/** Creates a key pair of which NetSuite gets the certificate. Rejects with an ApiError. */
export async function createCertificate(connection: string): Promise<void> {
  await api.POST('/connections/{connection}/certificate', { params: { path: { connection } } });
  await invalidate('/connections');
}

/** A person who may not create connections may set up the one called `netsuite`. */
async function create({ name = '', settings, ...entered }: Entered): Promise<void> {
  if (may('connection:create') || !('authentication' in settings))
    return void (await api.POST('/connections', { body: { name, settings, ...entered } as Input }));
  const authentication = { ...settings.authentication, ...entered.secrets };
  await api.PUT('/netsuite/connection', { body: { ...settings, authentication } });
}

/**
 * Saves what was entered, which is kept as `draft`, as a new connection or as that of `before`, has the first
 * certificate created with `creates`, and shows the next step. Rejects with an ApiError.
 */
export async function saveConnection(
  entered: Entered,
  {
    draft,
    before,
    next,
    creates = false,
  }: {
    draft: string;
    before: Connection | null;
    next: Step;
    creates?: boolean;
  },
): Promise<void> {
  const name = before?.name ?? entered.name ?? '';
  const path = { connection: name };
  if (before === null) await create(entered);
  else await api.PATCH('/connections/{connection}', { params: { path }, body: entered as Input });
  keep(draft, undefined);
  if (creates) await createCertificate(name);
  await invalidate('/connections', '/overview');
  go(addressOf(name, next));
}

/** The step at which a problem of this code is mended, where it is in the console. */
export function findFixStep(kind: string, code: string): Step | undefined {
  if (kind !== 'netsuite') return 'settings';
  if (/^(CERTIFICATE_|PRIVATE_KEY_|NO_CREDENTIALS)/.test(code)) return 'certificate';
  return /^(CLIENT_|ACCOUNT_|HOST_|INVALID_LOGIN|TIMEOUT)/.test(code) ? 'settings' : undefined;
}
