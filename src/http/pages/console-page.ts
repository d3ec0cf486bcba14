// The console: files that Vite built from web/console, read once at start-up. Every address below /console
// answers the same page, whose script shows the screen of the address. Where the files were not built, the
// page says how to build them.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { RequestHandler } from 'express';
import { inRoot } from '../../core/root.ts';
import { type Asset, readAsset, serveAssets, serveText } from './static-page.ts';

const builtFolder = inRoot('web/console/dist/');

const notBuilt = `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>Console · Portal Service</title>
  <link rel="icon" href="data:,">
</head>
<body>
  <main>
    <h1>The console has not been built</h1>
    <p>Run <code>npm ci &amp;&amp; npm run build</code> in the folder of the service and start it again. Everything else works without it:
    <a href="/api/platform/v1/openapi/preview">the reference of the management interface</a> has every operation of the console.</p>
  </main>
</body>
</html>
`;

/** The page and its files, by name; undefined when they aren't there or were replaced while being read. */
function readBuilt(folder: string): { page: string; files: ReadonlyMap<string, Asset> } | undefined {
  try {
    const assets = path.join(folder, 'assets');
    const page = readFileSync(path.join(folder, 'index.html'), 'utf8');
    return {
      page,
      files: new Map(readdirSync(assets).map((name) => [name, readAsset(path.join(assets, name))])),
    };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Mount it at /console. `folder` has the built files. Throws when they can't be read. */
export function createConsole(folder = builtFolder): RequestHandler {
  const built = readBuilt(folder);
  // Their names change with their content.
  const serveFile = serveAssets(built?.files ?? new Map(), 'assets');
  const page =
    built === undefined
      ? serveText(notBuilt, { status: 503, cacheControl: 'no-store' })
      : // It shows the portal in a frame, which it opens by a form.
        serveText(built.page, { sendsForms: true, hasFrames: true });
  return (req, res, next) => {
    if (req.method !== 'GET' && req.method !== 'HEAD') return next();
    return req.path === '/assets' || req.path.startsWith('/assets/')
      ? serveFile(req, res, next)
      : page(req, res, next);
  };
}
