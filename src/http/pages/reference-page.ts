// The interactive reference pages. A page is one static shell with the same bytes for every reader and every
// version label: it holds no tenant's data and doesn't reveal what exists. It fetches its content with the
// reader's own credentials.
import path from 'node:path';
import type { RequestHandler } from 'express';
import { type PageAssets, webFolders } from './page-assets.ts';
import { servePage } from './static-page.ts';

/** Mount each page for GET at the address of its OpenAPI document plus `/preview`. */
export function createReferencePages({ address }: PageAssets): {
  platform: RequestHandler;
  public: RequestHandler;
} {
  const page = (name: string) => servePage(path.join(webFolders.reference, `${name}.html`), address);
  return { platform: page('platform'), public: page('public') };
}
