// A mutant switches off one proof, confirmation or bound of the service by the smallest replacement of text,
// and is applied only in the worker processes of the simulation. Seeds must turn red with it: a proof whose
// absence goes unnoticed is tested nowhere, or is useless.
import { readFileSync } from 'node:fs';
import { replaceCode } from '../../setup/replace-code.ts';
import type { Content } from './contents.ts';
import type { History } from './history.ts';

export type Mutant = {
  readonly name: string;
  /** What the service no longer does. */
  readonly without: string;
  /** From the root of the project. */
  readonly file: string;
  /** Occurs exactly once in the file, however it is broken into lines. */
  readonly find: string;
  readonly replace: string;
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

/** Throws an Error unless the text to replace occurs exactly once. */
export const mutate = ({ name, file, find, replace }: Mutant, source: string): string =>
  replaceCode(source, find, replace, `mutant ${name} in ${file}`);

/** Throws as `mutate`, and when the file can't be read. */
export const mutatedSource = (mutant: Mutant): string => mutate(mutant, readFileSync(toUrl(mutant), 'utf8'));
