// The demo's sign-in with one click, without proof of who the person is: on its own machine alone.
import type { RequestHandler } from 'express';
import type { Ctx } from '../../core/ctx.ts';
import { type DemoPerson, isDemoReady, signInAsDemo } from '../../identity/sign-in.ts';
import { sessionCookies } from '../cookies.ts';
import { assertFromOwnPage, setSessionCookie, toClientInfo } from './browser.ts';

/** A demo's owner, and whether their organization exists: once it did, it isn't looked up again. */
export type Demo = { readonly owner: DemoPerson; isReady(): Promise<boolean> };
export function createDemo(ctx: Ctx, owner: DemoPerson): Demo {
  let ready = false;
  const isReady = async (): Promise<boolean> => {
    ready ||= await isDemoReady(ctx, owner);
    return ready;
  };
  return { owner, isReady };
}

/**
 * Signs in as the demo's owner without the identity provider; leads back to the welcome page while the demo
 * is being prepared. Throws 403 unless a page of this service asks, on this machine.
 */
export function signInDemo(ctx: Ctx, { owner, isReady }: Demo): RequestHandler {
  const { publicUrl } = ctx.settings;
  return async (req, res) => {
    assertFromOwnPage(req, ctx.settings);
    if (!(await isReady())) return res.redirect(303, '/');
    const token = await signInAsDemo(ctx, owner, sessionCookies(req, publicUrl), toClientInfo(req, res));
    setSessionCookie(res, ctx, token);
    res.redirect(303, '/console');
  };
}
