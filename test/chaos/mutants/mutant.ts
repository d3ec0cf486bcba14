// A mutant switches off one proof, confirmation or bound of the service by replacing one of its functions, and
// is applied only in the worker processes of the simulation. Seeds must turn red with it: a proof whose
// absence goes unnoticed is tested nowhere, or is useless.
import { readFileSync } from 'node:fs';
import { type Replacement, replaceFunction } from '../../setup/replace-function.ts';
import type { Content } from './contents.ts';
import type { History } from './history.ts';

export type Mutant = Replacement & {
  readonly name: string;
  /** What the service no longer does. */
  readonly without: string;
  /**
   * What is to reveal it, as contents of plans (see `contents.ts`): seeds with many of these are played
   * first.
   */
  readonly concerns: readonly Content[];
  /** What reveals it, in a few steps; played before any seed. */
  readonly history?: History;
};

export const root = new URL('../../../', import.meta.url);
export const toUrl = ({ file }: Mutant): URL => new URL(file, root);

/** Throws as `replaceFunction`, and when the file can't be read. */
export const mutatedSource = (mutant: Mutant): string =>
  replaceFunction(readFileSync(toUrl(mutant), 'utf8'), mutant);
