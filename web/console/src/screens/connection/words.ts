// The connection in words, and which steps are open.
import { type Answer, api, type paths } from '../../api.ts';
import { keep } from '../../kept.ts';
import { invalidate } from '../../query.ts';
import { base, go } from '../../router.ts';

export type Connection = Answer<'/netsuite/connection'>;
export type Certificate = Connection['certificates'][number];
export type TestReport = Answer<'/netsuite/connection/test', 'post'>;
type Input = paths['/netsuite/connection']['put']['requestBody']['content']['application/json'];

export const methodWords = {
  oauth2: 'OAuth 2.0 with a certificate',
  tba: 'Token-based authentication (TBA)',
} as const;

export const stepTitles = {
  account: 'Account',
  certificate: 'Certificate',
  test: 'Test',
} as const;
export type Step = keyof typeof stepTitles;
export const isStep = (text: string | null): text is Step => text !== null && Object.hasOwn(stepTitles, text);

export const stepAddress = (step: Step): string => `${base}/connection?step=${step}`;

/** Tokens need no certificate. */
export const listConnectionSteps = (method: keyof typeof methodWords): readonly Step[] =>
  method === 'tba' ? ['account', 'test'] : ['account', 'certificate', 'test'];

/** The first step that isn't done; null once the service has all that it needs to sign in. */
export function openStep(connection: Connection | null): Step | null {
  if (connection?.hasCredentials) return null;
  return connection?.authentication.method === 'oauth2' ? 'certificate' : 'account';
}

/**
 * The certificate that the person works on: the one that waits for its id, otherwise the one that signs in.
 */
export const currentCertificate = ({ certificates }: Connection): Certificate | undefined =>
  certificates.find(({ certificateId }) => certificateId === null) ??
  certificates.find(({ active }) => active) ??
  certificates[0];

/** Creates a key pair of which NetSuite gets the certificate. Rejects with an ApiError. */
export async function createCertificate(): Promise<void> {
  await api.POST('/netsuite/connection/certificate');
  await invalidate('/netsuite/connection');
}

/**
 * Saves what was entered, which is kept as `draft`, has the first certificate created with `creates`, and shows
 * the next step. Rejects with an ApiError.
 */
export async function saveConnection(body: Input, draft: string, next: Step, creates = false): Promise<void> {
  await api.PUT('/netsuite/connection', { body });
  keep(draft, undefined);
  if (creates) await api.POST('/netsuite/connection/certificate');
  await invalidate('/netsuite', '/overview');
  go(stepAddress(next));
}

/** The steps at which a problem of this code is mended, where they are in the console. */
export const fixSteps: Readonly<Record<string, readonly Step[]>> = {
  CERTIFICATE_UNKNOWN: ['certificate'],
  CERTIFICATE_EXPIRED: ['certificate'],
  PRIVATE_KEY_UNUSABLE: ['certificate'],
  CLIENT_UNKNOWN: ['account'],
  ACCOUNT_UNKNOWN: ['account'],
  INVALID_LOGIN: ['account'],
  HOST_REFUSED: ['account'],
  HOST_UNREACHABLE: ['account'],
  TIMEOUT: ['account'],
  NO_CREDENTIALS: ['certificate'],
};
