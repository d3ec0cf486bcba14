// Static pages and the files they load, each read once at start-up. No other file is ever served. The
// Content-Security-Policy forbids requests to other origins and inline scripts and styles.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { RequestHandler, Response } from 'express';

const contentTypes: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
};

type PageAbilities = {
  /** The page has forms that go to this service. */
  readonly sendsForms?: boolean;
  /** The page shows pages of this service in frames. */
  readonly hasFrames?: boolean;
};

const contentPolicy = ({ sendsForms = false, hasFrames = false }: PageAbilities): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "font-src 'self'",
    "base-uri 'none'",
    `form-action ${sendsForms ? "'self'" : "'none'"}`,
    ...(hasFrames ? ["frame-src 'self'"] : []),
    "frame-ancestors 'none'",
  ].join('; ');

export type Asset = { readonly contentType: string; readonly plain: Buffer; gzipped: Promise<Buffer> | null };

export const readAsset = (file: string): Asset => ({
  contentType: contentTypes[path.extname(file)] ?? 'application/octet-stream',
  plain: readFileSync(file),
  gzipped: null,
});

/** A hash over all files. It is part of every asset's URL, so responses may be cached forever. */
export function assetsVersion(assets: ReadonlyMap<string, Asset>): string {
  const hash = createHash('sha256');
  for (const [name, { plain }] of assets) hash.update(`${name} ${plain.length}\n`).update(plain);
  return hash.digest('hex').slice(0, 16);
}

export function setPolicy(res: Response, cacheControl: string, abilities: PageAbilities = {}): void {
  res.setHeader('Content-Security-Policy', contentPolicy(abilities));
  // Without a referrer browsers send forms with `Origin: null`.
  res.setHeader('Referrer-Policy', abilities.sendsForms === true ? 'same-origin' : 'no-referrer');
  res.setHeader('X-Content-Type-Options', 'nosniff');
  res.setHeader('Cross-Origin-Resource-Policy', 'same-origin');
  res.setHeader('Cache-Control', cacheControl);
}

const compress = promisify(gzip);

/**
 * Serves GET and HEAD below its mount path; the first path segment must be `version`. Everything else goes to
 * the next handler.
 */
export function serveAssets(assets: ReadonlyMap<string, Asset>, version: string): RequestHandler {
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

/** Serves the file with `{{assets}}` replaced by its assets' base URL. Throws when it can't be read. */
export const servePage = (file: string, assetsAddress: string): RequestHandler =>
  serveText(readFileSync(file, 'utf8').replaceAll('{{assets}}', assetsAddress));

type TextOptions = PageAbilities & { readonly status?: number; readonly cacheControl?: string };

/** Serves the same HTML page for every request. */
export function serveText(
  html: string,
  { status = 200, cacheControl = 'no-cache', ...abilities }: TextOptions = {},
): RequestHandler {
  const page = Buffer.from(html);
  return (_req, res) => {
    setPolicy(res, cacheControl, abilities);
    res.status(status);
    res.setHeader('Content-Type', 'text/html; charset=utf-8');
    res.setHeader('Content-Length', page.length);
    res.end(page);
  };
}
