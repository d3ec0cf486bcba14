// The typed client, as npm installs it from the address of the service. A build makes the file.
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RequestHandler } from 'express';
import { notFound } from '../../core/errors.ts';
import { inRoot } from '../../core/root.ts';

const builtFile = inRoot('packages/client/dist/client.tgz');

function readBuilt(): Buffer | undefined {
  try {
    return readFileSync(builtFile);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Serves the package, or 404 where it was not built. Throws when the file can't be read. */
export function createClientPackage(): RequestHandler {
  const file = readBuilt();
  const tag = file && `"${hash('sha256', file, 'base64url').slice(0, 27)}"`;
  return (req, res) => {
    if (file === undefined || tag === undefined)
      throw notFound('The client', {
        code: 'not_built',
        message: 'The operator builds it with "npm run build", and starts the service again',
      });
    res.setHeader('Cache-Control', 'no-cache');
    res.setHeader('ETag', tag);
    if (req.headers['if-none-match'] === tag) return void res.status(304).end();
    res.setHeader('Content-Type', 'application/gzip');
    res.setHeader('Content-Disposition', 'attachment; filename="client.tgz"');
    res.setHeader('X-Content-Type-Options', 'nosniff');
    res.setHeader('Content-Length', file.length);
    res.end(file);
  };
}
