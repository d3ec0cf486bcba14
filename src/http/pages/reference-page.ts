// The interactive reference pages and the files they load. A page is one static shell with the same bytes for
// every reader and every version label: it holds no tenant's data and doesn't reveal what exists. It fetches
// its content with the reader's own credentials.
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RequestHandler } from 'express';
import { type Asset, assetsVersion, readAsset, serveAssets, servePage } from './static-page.ts';

const assetsBase = '/reference-assets';
const ownFolder = fileURLToPath(new URL('../../../web/reference/', import.meta.url));
const sharedFolder = fileURLToPath(new URL('../../../web/shared/', import.meta.url));
const packages = createRequire(import.meta.url);

const rendererFiles = [
  'reference.js',
  'navigation.js',
  'views.js',
  'fields.js',
  'operation.js',
  'request-form.js',
  'request-panel.js',
  'samples.js',
  'code-text.js',
  'response-view.js',
  'json-text.js',
  'model.js',
  'prose.js',
  'dom.js',
  'layout.css',
  'operation.css',
];
const ownFiles = [
  ...rendererFiles.map((name) => `renderer/${name}`),
  'public.js',
  'stale-fields.js',
  'platform.js',
  'access.js',
  'description.js',
  'reference.css',
  'icon.svg',
];

const readAssets = (): ReadonlyMap<string, Asset> =>
  new Map([
    ...ownFiles.map((name): [string, Asset] => [name, readAsset(path.join(ownFolder, name))]),
    ...['tokens.css', 'theme.js'].map((name): [string, Asset] => [
      name,
      readAsset(path.join(sharedFolder, name)),
    ]),
    ['marked.esm.js', readAsset(packages.resolve('marked'))],
  ]);

/**
 * Mount `assets` at /reference-assets, and each page for GET at the address of its OpenAPI document plus
 * `/preview`.
 */
export function createReferencePages(): {
  assets: RequestHandler;
  platform: RequestHandler;
  public: RequestHandler;
} {
  const assets = readAssets();
  const version = assetsVersion(assets);
  const page = (name: string): RequestHandler =>
    servePage(path.join(ownFolder, `${name}.html`), `${assetsBase}/${version}`);
  return { assets: serveAssets(assets, version), platform: page('platform'), public: page('public') };
}
