// Sign-in of visitors at the identity provider of the organization, by the machinery of members' sign-in. It ends as
// that with a mailed code does: the address that the provider verified decides.
import { AppError, errorMessage } from '../core/errors.ts';
import { toSearchParams } from '../http/sign-in/provider.ts';
import { normalizeEmail } from '../identity/email-address.ts';
import { attemptTtlMs, proveIdentity, startSignIn } from '../identity/sign-in.ts';
import { findPerson } from '../platform/index.ts';
import { cookieOptions, cookiesOf, type ProviderProblem, Returning, setSession } from './forms.ts';
import type { Provider } from './providers.ts';
import type { At } from './room.ts';
import { noCustomer, resolvePage } from './sign-in.ts';
import { getPortal } from './visit.ts';

function returnToForm({ res, site }: At, problem: ProviderProblem): void {
  res.redirect(303, `${site.base}/sign-in?problem=${problem}`);
}

/** Undefined for what the form says; other errors are thrown. */
const toUnproven =
  ({ ctx }: At) =>
  (error: unknown): undefined => {
    if (!(error instanceof AppError) || (error.status !== 400 && error.status !== 503)) throw error;
    if (error.status === 503)
      ctx.log.warn(
        { reason: errorMessage(error.cause) },
        'the identity provider of a portal can not be reached',
      );
  };

/** Leads to the provider. Throws 404 without one. */
export async function startAtProvider(at: At): Promise<void> {
  const { ctx, req, res, site, room } = at;
  await getPortal(ctx);
  const { client, audience } = await room.providers.get(ctx, site);
  const returnTo = resolvePage(site, Returning.parse(req.query).returnTo);
  res.setHeader('Cache-Control', 'private, no-store');
  const started = await startSignIn(ctx, client, { returnTo }, audience).catch(toUnproven(at));
  if (started === undefined) return returnToForm(at, 'not_signed_in');
  res.cookie(site.cookie.provider, started.cookie, { ...cookieOptions(site), maxAge: attemptTtlMs });
  res.redirect(303, started.url);
}

/** `email`: null unless the provider verified it. Rejects as `proveIdentity` does. */
async function proveAddress({ ctx, req }: At, { client, audience }: Provider, cookies: readonly string[]) {
  const callback = { query: toSearchParams(req), cookies };
  const { proven, returnTo } = await proveIdentity(ctx, client, callback, audience);
  const { verifiedEmail } = await proven.profile();
  return { email: verifiedEmail === null ? null : normalizeEmail(verifiedEmail), returnTo };
}

/** Where the provider sends visitors back. Throws 404 without a provider, and 403 `no_customer`. */
export async function finishAtProvider(at: At): Promise<void> {
  const { ctx, req, res, site, room } = at;
  const portal = await getPortal(ctx);
  const provider = await room.providers.get(ctx, site);
  res.setHeader('Cache-Control', 'private, no-store');
  const proven = await proveAddress(at, provider, cookiesOf(at, 'provider'))
    .catch(room.failures.countRefusal(req))
    .catch(toUnproven(at));
  if (proven === undefined) return returnToForm(at, 'not_signed_in');
  const { email, returnTo } = proven;
  if (email === null) return returnToForm(at, 'not_verified');
  const { customers } = await findPerson(ctx, portal, email);
  if (customers.length === 0) throw noCustomer();
  res.clearCookie(site.cookie.provider, cookieOptions(site));
  await setSession(at, portal, email);
  res.redirect(303, returnTo);
}
