// Loads the service once more with one of its lines replaced: modules whose address ends in `?off=<index>`
// import the others with the same ending, and the file of that patch is changed as it is loaded.
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { replaceCode } from '../setup/replace-code.ts';
import { platformPatches } from './platform-patches.ts';
import { richerPatches } from './richer-patches.ts';
import { controlPatch, type Patch, surfacePatches } from './surface-patches.ts';

const root = path.join(import.meta.dirname, '../..');
const source = pathToFileURL(path.join(root, 'src')).href;
const patches: readonly Patch[] = [controlPatch, ...surfacePatches, ...richerPatches, ...platformPatches];
const parseIndex = (url: string | undefined): string | undefined => /\?off=(\d+)$/.exec(url ?? '')?.[1];

/** The text of the file with the patch. Throws an Error when the line isn't there exactly once. */
function patchedText({ file: name, find, replace }: Patch): { readonly file: string; readonly text: string } {
  const file = path.join(root, 'src', name);
  return {
    file: pathToFileURL(file).href,
    text: replaceCode(readFileSync(file, 'utf8'), find, replace, `A patch of ${name}`),
  };
}

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
      const { file, text } = patchedText(patches[Number(index)] as Patch);
      return url.startsWith(`${file}?`) ? { ...next(url, context), source: text } : next(url, context);
    },
  });
}

/** A module of this folder over a service with this patch. */
export async function loadWithout<M>(patch: Patch, module: string): Promise<M> {
  register();
  const { href } = pathToFileURL(path.join(import.meta.dirname, module));
  return (await import(`${href}?off=${patches.indexOf(patch)}`)) as M;
}
