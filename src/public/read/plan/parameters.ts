// Reads single parameters of a query and collects the problems of all of them, so that a client gets every
// problem in one response. Pure.
import type { ErrorDetail } from '../../../core/errors.ts';
import { didYouMean } from '../../../core/text/nearest-name.ts';
import { parameterError, parameterProblem, type QueryParameters } from './request.ts';

export type ReportProblem = (name: string, code: string, message: string) => void;

const maxProblems = 20;
/** Looking for similar names takes time, and more suggestions help no one. */
export const maxSuggestions = 5;

/** `assertNone` throws 400 with the problems that were reported, at most 20. */
export function collectProblems(): { report: ReportProblem; assertNone: () => void } {
  const problems: ErrorDetail[] = [];
  return {
    report: (name, code, message) => {
      if (problems.length < maxProblems) problems.push(parameterProblem(name, code, message));
    },
    assertNone: () => {
      if (problems.length > 0) throw parameterError(problems);
    },
  };
}

/**
 * Reports the parameters that are neither `own` nor filters. `hints`: what to use in place of a parameter of
 * another kind of request. `unnamed`: those of `own` that are not suggested.
 */
export function reportUnknown(
  query: QueryParameters,
  own: ReadonlySet<string>,
  filters: ReadonlyMap<string, unknown>,
  report: ReportProblem,
  hints: ReadonlyMap<string, string> = noHints,
  unnamed: ReadonlySet<string> = noneUnnamed,
): void {
  const unknown = [...query.keys()]
    .filter((name) => !own.has(name) && !filters.has(name))
    .slice(0, maxProblems);
  if (unknown.length === 0) return;
  const known = [...[...own].filter((name) => !unnamed.has(name)), ...filters.keys()];
  for (const [index, name] of unknown.entries()) {
    const hint = hints.get(name);
    const suggestion =
      hint !== undefined ? ` ${hint}` : index < maxSuggestions ? didYouMean(name, known) : '';
    report(name, 'unknown_parameter', `Unknown parameter "${name.slice(0, 80)}".${suggestion}`);
  }
}

const noHints: ReadonlyMap<string, string> = new Map();
const noneUnnamed: ReadonlySet<string> = new Set();

/**
 * The value of a parameter that may not be repeated; undefined when it is absent or was reported as a
 * problem.
 */
export function single(query: QueryParameters, name: string, report: ReportProblem): string | undefined {
  const values = query.get(name);
  if (values === undefined) return undefined;
  if (values.length > 1) report(name, 'repeated_parameter', `"${name}" may be given only once`);
  else if (values[0] === '') report(name, 'empty_value', `"${name}" must not be empty`);
  else return values[0];
  return undefined;
}

/** A whole number from 1 to `max`; `fallback` when it is absent or was reported as a problem. */
export function parseCount(
  query: QueryParameters,
  name: string,
  fallback: number,
  max: number,
  report: ReportProblem,
): number {
  const text = single(query, name, report);
  if (text === undefined) return fallback;
  const count = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : Number.NaN;
  if (count <= max) return count;
  report(name, 'out_of_range', `"${name}" must be a whole number from 1 to ${max}`);
  return fallback;
}
