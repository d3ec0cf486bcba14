// The page behind the link in an invitation mail: one static shell for every invitation. The token is in the
// URL fragment, which browsers never send to a server; the page's script sends it once, on acceptance.
import path from 'node:path';
import type { RequestHandler } from 'express';
import { type PageAssets, webFolders } from './page-assets.ts';
import { servePage } from './static-page.ts';

/** Mount it for GET /invitations/accept. */
export const createInvitationPage = ({ address }: PageAssets): RequestHandler =>
  servePage(path.join(webFolders.invitations, 'accept.html'), address);
