// The page behind the link in an invitation mail: one static shell for every invitation. The token is in the
// URL fragment, which browsers never send to a server; the page's script sends it once, when the person
// accepts.
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RequestHandler } from 'express';
import { assetsVersion, readAsset, serveAssets, servePage } from './static-page.ts';

const folder = fileURLToPath(new URL('../../../web/invitations/', import.meta.url));
const files = ['accept.js', 'accept.css'];

/**
 * Mount `assets` at /invitation-assets and `page` for GET /invitations/accept. Other small pages share
 * `stylesheet`.
 */
export function createInvitationPage(): { assets: RequestHandler; page: RequestHandler; stylesheet: string } {
  const assets = new Map(files.map((name) => [name, readAsset(path.join(folder, name))]));
  const version = assetsVersion(assets);
  const address = `/invitation-assets/${version}`;
  return {
    assets: serveAssets(assets, version),
    page: servePage(path.join(folder, 'accept.html'), address),
    stylesheet: `${address}/accept.css`,
  };
}
