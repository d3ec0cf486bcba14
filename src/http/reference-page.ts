// The interactive reference pages and the files they load. A page is one static shell, the same bytes for everyone and every
// version label: it holds no tenant's data and shows no existence; what it shows it fetches with the reader's own credentials.
// No file outside the list below is ever served, and the policy lets no request leave this origin.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { RequestHandler, Response } from 'express';

const assetsBase = '/reference-assets';
const ownFolder = fileURLToPath(new URL('./reference-assets/', import.meta.url));
const packages = createRequire(import.meta.url);

const ownFiles = [
  'public.js',
  'platform.js',
  'access.js',
  'description.js',
  'viewer.js',
  'reference.css',
  'swagger-operations.css',
  'swagger-tables.css',
  'icon.svg',
];
const viewerFiles = ['swagger-ui-bundle.js', 'swagger-ui-bundle.js.LICENSE.txt', 'swagger-ui.css'];

const contentTypes: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
};

const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

type Asset = { readonly contentType: string; readonly plain: Buffer; gzipped: Promise<Buffer> | null };

const readAsset = (file: string): Asset => ({
  contentType: contentTypes[path.extname(file)] ?? 'application/octet-stream',
  plain: readFileSync(file),
  gzipped: null,
});

function readAssets(): ReadonlyMap<string, Asset> {
  return new Map([
    ...ownFiles.map((name): [string, Asset] => [name, readAsset(path.join(ownFolder, name))]),
    ...viewerFiles.map((name): [string, Asset] => [name, readAsset(packages.resolve(`swagger-ui-dist/${name}`))]),
  ]);
}

/** Changes whenever any of the files does: it stands in every asset's address, so that answers may be kept for good. */
function versionOf(assets: ReadonlyMap<string, Asset>): string {
  const hash = createHash('sha256');
  for (const [name, { plain }] of assets) hash.update(`${name} ${plain.length}\n`).update(plain);
  return hash.digest('hex').slice(0, 16);
}

function setPolicy(res: Response, cacheControl: string): void {
  res.setHeader('Content-Security-Policy', contentPolicy);
  res.setHeader('Referrer-Policy', 'no-referrer');
  res.setHeader('X-Content-Type-Options', 'nosniff');
  res.setHeader('Cross-Origin-Resource-Policy', 'same-origin');
  res.setHeader('Cache-Control', cacheControl);
}

const compress = promisify(gzip);

function serveAssets(assets: ReadonlyMap<string, Asset>, version: string): RequestHandler {
  const prefix = `/${version}/`;
  return async (req, res, next) => {
    const asset = req.path.startsWith(prefix) ? assets.get(req.path.slice(prefix.length)) : undefined;
    if (asset === undefined || (req.method !== 'GET' && req.method !== 'HEAD')) return next();
    setPolicy(res, 'public, max-age=31536000, immutable');
    res.setHeader('Content-Type', asset.contentType);
    res.vary('Accept-Encoding');
    let body = asset.plain;
    if (req.acceptsEncodings('gzip') === 'gzip') {
      asset.gzipped ??= compress(asset.plain, { level: 9 });
      body = await asset.gzipped;
      res.setHeader('Content-Encoding', 'gzip');
    }
    res.setHeader('Content-Length', body.length);
    res.end(body);
  };
}

function servePage(name: 'public' | 'platform', version: string): RequestHandler {
  const html = readFileSync(path.join(ownFolder, `${name}.html`), 'utf8').replaceAll('{{assets}}', `${assetsBase}/${version}`);
  const page = Buffer.from(html);
  return (_req, res) => {
    setPolicy(res, 'no-cache');
    res.setHeader('Content-Type', 'text/html; charset=utf-8');
    res.setHeader('Content-Length', page.length);
    res.end(page);
  };
}

/** `assets` is to be mounted at /reference-assets; each page answers GET at the description's own address plus `/preview`. */
export function referencePages(): { assets: RequestHandler; platform: RequestHandler; public: RequestHandler } {
  const assets = readAssets();
  const version = versionOf(assets);
  return { assets: serveAssets(assets, version), platform: servePage('platform', version), public: servePage('public', version) };
}
