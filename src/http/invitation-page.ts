// The page behind the link in an invitation's mail: one static shell for every invitation. The token stands in the address's
// fragment, which never reaches this or any other server by itself; the page sends it once, when the person accepts.
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RequestHandler } from 'express';
import { readAsset, serveAssets, servePage, versionOf } from './static-page.ts';

const folder = fileURLToPath(new URL('./invitation-assets/', import.meta.url));
const files = ['accept.js', 'accept.css'];

/** `assets` is to be mounted at /invitation-assets; the page answers GET /invitations/accept. Other small pages look as it does. */
export function invitationPage(): { assets: RequestHandler; page: RequestHandler; stylesheet: string } {
  const assets = new Map(files.map((name) => [name, readAsset(path.join(folder, name))]));
  const version = versionOf(assets);
  const address = `/invitation-assets/${version}`;
  return {
    assets: serveAssets(assets, version),
    page: servePage(path.join(folder, 'accept.html'), address),
    stylesheet: `${address}/accept.css`,
  };
}
