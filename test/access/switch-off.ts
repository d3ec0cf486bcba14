// Loads the service once more with one of its functions replaced: modules whose address ends in
// `?off=<index>` import the others with the same ending, and the file of that replacement is changed as it is
// loaded.
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Replacement, replaceFunction } from '../setup/replace-function.ts';

const root = path.join(import.meta.dirname, '../..');
const source = pathToFileURL(path.join(root, 'src')).href;
const loaded: Replacement[] = [];
const parseIndex = (url: string | undefined): string | undefined => /\?off=(\d+)$/.exec(url ?? '')?.[1];

let isRegistered = false;
function register(): void {
  if (isRegistered) return;
  isRegistered = true;
  registerHooks({
    resolve: (specifier, context, next) => {
      const resolved = next(specifier, context);
      const index = parseIndex(context.parentURL);
      if (
        index === undefined ||
        !/\/(?:src|test)\//.test(resolved.url) ||
        resolved.url.includes('/node_modules/') ||
        parseIndex(resolved.url) !== undefined
      )
        return resolved;
      return { ...resolved, url: `${resolved.url}?off=${index}` };
    },
    load: (url, context, next) => {
      const index = parseIndex(url);
      if (index === undefined || !url.startsWith(source)) return next(url, context);
      const replacement = loaded[Number(index)] as Replacement;
      const file = path.join(root, replacement.file);
      return url.startsWith(`${pathToFileURL(file).href}?`)
        ? { ...next(url, context), source: replaceFunction(readFileSync(file, 'utf8'), replacement) }
        : next(url, context);
    },
  });
}

/** A module of this folder over a service with this replacement. Rejects where the service can't be loaded. */
export async function loadWithout<M>(replacement: Replacement, module: string): Promise<M> {
  register();
  const { href } = pathToFileURL(path.join(import.meta.dirname, module));
  return (await import(`${href}?off=${loaded.push(replacement) - 1}`)) as M;
}
