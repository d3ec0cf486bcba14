// Loaded before the worker of the simulation: replaces one function of one source file, as the mutant in
// CHAOS_MUTANT says. The process fails to start when there is no such mutant or function, so that no mutant is
// ever played unmutated.
import { registerHooks } from 'node:module';
import { findMutant } from './catalog.ts';
import { mutatedSource, toUrl } from './mutant.ts';

const mutant = findMutant(process.env['CHAOS_MUTANT'] ?? '');
const [target, source] = [toUrl(mutant).href, mutatedSource(mutant)];

registerHooks({
  load: (url, context, nextLoad) =>
    url === target ? { ...nextLoad(url, context), source } : nextLoad(url, context),
});
await import(target);
