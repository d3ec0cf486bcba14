// Errors as pages that a visitor understands. Nothing that the request or another server sent is shown.
import type { AppError } from '../core/errors.ts';
import type { ProblemPage } from './view-model.ts';

type Code = ProblemPage['code'];
const codesByDetail: Readonly<Record<string, Code>> = {
  no_customer: 'no_customer',
  too_many_customers: 'too_many_customers',
  view_ended: 'view_ended',
  scope_field_stale: 'incomplete',
  people_unknown: 'incomplete',
  statement_too_long: 'too_long',
};
const codesByStatus: Readonly<Record<number, Code>> = {
  404: 'not_found',
  429: 'too_many_requests',
  503: 'unavailable',
};

export function toProblemPage(problem: AppError, requestId: string): ProblemPage {
  const { status, details, completeAt } = problem;
  const code =
    codesByDetail[details[0]?.code ?? ''] ??
    codesByStatus[status] ??
    (status < 500 ? 'bad_request' : 'failed');
  return { kind: 'problem', code, completeAt, requestId };
}
