// What the tests of signing in and out ask the service.
import { expect } from 'vitest';
import type { useSignIn } from '../setup/use-sign-in.ts';

type Site = ReturnType<typeof useSignIn>;

/** The status and error code that an address of /auth returns to a program, and that it sets no session. */
export async function refusal(response: Response): Promise<[number, string | undefined]> {
  const body = (await response.json()) as { error: { details?: { code: string }[] } };
  expect(response.headers.getSetCookie().some((line) => line.startsWith('portal_session='))).toBe(false);
  return [response.status, body.error.details?.[0]?.code];
}

/** The organization's audit rows of an action, the oldest first. */
export const readAudit = ({ admin, organization }: Site, action: string) =>
  admin('audit_log')
    .where({ action, organization_id: organization.id })
    .select<Record<string, unknown>[]>()
    .orderBy('at');

/** The status of a request with the session of that token. */
export const statusOf = async ({ origin }: Site, token: string): Promise<number> =>
  (await fetch(`${origin}/api/platform/v1/whoami`, { headers: { cookie: `portal_session=${token}` } }))
    .status;
