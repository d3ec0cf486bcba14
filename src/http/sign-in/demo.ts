// The demo's sign-in with one click, without proof of who the person is: on its own machine alone.
import type { RequestHandler } from 'express';
import type { Ctx } from '../../core/ctx.ts';
import { type DemoPerson, findDemoSlug, signInAsDemo } from '../../identity/sign-in.ts';
import { sessionCookies } from '../cookies.ts';
import { assertFromOwnPage, setSessionCookie, toClientInfo } from './browser.ts';

/** A demo's owner, and the slug of their organization: undefined until it exists, and then looked up no more. */
export type Demo = {
  readonly owner: DemoPerson;
  findSlug(): Promise<string | undefined>;
  /** The slug of its portal, once that is on. */
  findPortal(): Promise<string | undefined>;
};
export function createDemo(
  ctx: Ctx,
  owner: DemoPerson,
  isPortalOn: (slug: string) => Promise<boolean>,
): Demo {
  let slug: string | undefined;
  const findSlug = async (): Promise<string | undefined> => {
    slug ??= await findDemoSlug(ctx, owner);
    return slug;
  };
  const findPortal = async (): Promise<string | undefined> => {
    const found = await findSlug();
    return found !== undefined && (await isPortalOn(found)) ? found : undefined;
  };
  return { owner, findSlug, findPortal };
}

/**
 * Signs in as the demo's owner without the identity provider; leads back to the welcome page while the demo
 * is being prepared. Throws 403 unless a page of this service asks, on this machine.
 */
export function signInDemo(ctx: Ctx, { owner, findSlug }: Demo): RequestHandler {
  const { publicUrl } = ctx.settings;
  return async (req, res) => {
    assertFromOwnPage(req, ctx.settings);
    if ((await findSlug()) === undefined) return res.redirect(303, '/');
    const token = await signInAsDemo(ctx, owner, sessionCookies(req, publicUrl), toClientInfo(req, res));
    setSessionCookie(res, ctx, token);
    res.redirect(303, '/console');
  };
}
