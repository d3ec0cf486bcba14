// Loads the service once more with one of its lines replaced: modules whose address ends in `?off=<index>` import the others with the same
// ending, and the file of that patch is changed as it is loaded.
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { doorPatches } from './door-patches.ts';

const root = path.join(import.meta.dirname, '../..');
const source = pathToFileURL(path.join(root, 'src')).href;
const service = pathToFileURL(path.join(import.meta.dirname, 'service.ts')).href;
const indexOf = (url: string | undefined): string | undefined => /\?off=(\d+)$/.exec(url ?? '')?.[1];

/** The text of the file with the patch. Throws an Error when the line isn't there exactly once. */
export function patchedText(index: number): { readonly file: string; readonly text: string } {
  const patch = doorPatches[index];
  if (patch === undefined) throw new RangeError(`no patch ${index}`);
  const file = path.join(root, 'src', patch.file);
  const parts = readFileSync(file, 'utf8').split(patch.find);
  if (parts.length !== 2)
    throw new Error(`The patch of ${patch.what} no longer applies: ${patch.file} has its line ${parts.length - 1} times`);
  return { file: pathToFileURL(file).href, text: parts.join(patch.replace) };
}

let isRegistered = false;
function register(): void {
  if (isRegistered) return;
  isRegistered = true;
  registerHooks({
    resolve: (specifier, context, next) => {
      const resolved = next(specifier, context);
      const index = indexOf(context.parentURL);
      if (
        index === undefined ||
        !/\/(?:src|test)\//.test(resolved.url) ||
        resolved.url.includes('/node_modules/') ||
        indexOf(resolved.url) !== undefined
      )
        return resolved;
      return { ...resolved, url: `${resolved.url}?off=${index}` };
    },
    load: (url, context, next) => {
      const index = indexOf(url);
      if (index === undefined || !url.startsWith(source)) return next(url, context);
      const { file, text } = patchedText(Number(index));
      return url.startsWith(`${file}?`) ? { ...next(url, context), source: text } : next(url, context);
    },
  });
}

/** The module service.ts over a service with this patch. */
export async function loadWithout(index: number): Promise<typeof import('./service.ts')> {
  register();
  return (await import(`${service}?off=${index}`)) as typeof import('./service.ts');
}
