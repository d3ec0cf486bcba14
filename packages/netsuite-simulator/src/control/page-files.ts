// The pages' files, read once. They hold no secret, so they need no token: a page takes it from the fragment
// of its address.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { RequestHandler } from 'express';

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-cache',
};

/**
 * Serves the folder's index.html at `address` and its other files below `page/` there; everything else goes
 * to the next handler.
 */
export function servePage(folder: string, address: string): RequestHandler {
  const files = new Map(
    readdirSync(folder).map((name) => {
      const file = {
        type: CONTENT_TYPES[path.extname(name)] ?? 'application/octet-stream',
        content: readFileSync(path.join(folder, name)),
      };
      return [name === 'index.html' ? address : path.posix.join(address, 'page', name), file] as const;
    }),
  );
  return (request, response, next) => {
    const file = files.get(request.path);
    if (!file || (request.method !== 'GET' && request.method !== 'HEAD')) return next();
    response.set({ ...HEADERS, 'content-type': file.type, 'content-length': String(file.content.length) });
    response.end(file.content);
  };
}
