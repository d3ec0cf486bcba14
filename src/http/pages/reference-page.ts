// The interactive reference pages and the files they load. A page is one static shell with the same bytes for every reader and every
// version label: it holds no tenant's data and doesn't reveal what exists. It fetches its content with the reader's own credentials.
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RequestHandler } from 'express';
import { type Asset, assetsVersion, readAsset, serveAssets, servePage } from './static-page.ts';

const assetsBase = '/reference-assets';
const ownFolder = fileURLToPath(new URL('../../../web/reference/', import.meta.url));
const packages = createRequire(import.meta.url);

const publicFiles = [
  'start.js',
  'reference.js',
  'navigation.js',
  'views.js',
  'operation.js',
  'request-form.js',
  'request-panel.js',
  'samples.js',
  'code-text.js',
  'response-view.js',
  'json-text.js',
  'model.js',
  'prose.js',
  'stale-fields.js',
  'dom.js',
  'layout.css',
  'operation.css',
];
const ownFiles = [
  ...publicFiles.map((name) => `public/${name}`),
  'platform.js',
  'appearance.js',
  'access.js',
  'description.js',
  'viewer.js',
  'reference.css',
  'swagger-operations.css',
  'swagger-tables.css',
  'icon.svg',
];
const packageFiles: Readonly<Record<string, string>> = {
  'swagger-ui-bundle.js': 'swagger-ui-dist/swagger-ui-bundle.js',
  'swagger-ui-bundle.js.LICENSE.txt': 'swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt',
  'swagger-ui.css': 'swagger-ui-dist/swagger-ui.css',
  'marked.esm.js': 'marked',
};

function readAssets(): ReadonlyMap<string, Asset> {
  return new Map([
    ...ownFiles.map((name): [string, Asset] => [name, readAsset(path.join(ownFolder, name))]),
    ...Object.entries(packageFiles).map(([name, file]): [string, Asset] => [name, readAsset(packages.resolve(file))]),
  ]);
}

/** Mount `assets` at /reference-assets, and each page for GET at the address of its OpenAPI document plus `/preview`. */
export function createReferencePages(): { assets: RequestHandler; platform: RequestHandler; public: RequestHandler } {
  const assets = readAssets();
  const version = assetsVersion(assets);
  const page = (name: string): RequestHandler => servePage(path.join(ownFolder, `${name}.html`), `${assetsBase}/${version}`);
  return { assets: serveAssets(assets, version), platform: page('platform'), public: page('public') };
}
