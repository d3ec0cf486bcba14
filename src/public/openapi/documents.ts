// Describes records as PDF, where an endpoint declares that.
import type { oas31 } from 'openapi3-ts';
import { recordFormats } from '../read/plan/format.ts';
import type { EndpointDefinition } from '../version/schema-document.ts';
import { errorResponse } from './parts.ts';

export const hasDocument = ({ document }: Pick<EndpointDefinition, 'document'>): boolean =>
  document !== undefined;

const formatParameter: oas31.ParameterObject = {
  name: 'format',
  in: 'query',
  description:
    'The form of the response, for clients that cannot set `Accept`; it wins over that header. `pdf` has no related records.',
  schema: { type: 'string', enum: [...recordFormats] },
};

/** The component `responses/Unsettable`, only in versions with documents. */
export const unsettable: oas31.ResponseObject = errorResponse(
  'The record cannot be set as PDF: `cannot_set` names characters that the fonts do not have; `too_many_rows`, `too_much_text`, `too_slow` and `too_much_work` say that it is too large.',
  'VALIDATION_ERROR',
  'cannot_set',
  'Accept',
);

/** The operation that retrieves a record, which is then returned as PDF too. */
export function withDocument(operation: oas31.OperationObject): oas31.OperationObject {
  const { parameters = [], responses = {} } = operation;
  const { 200: found, ...others } = responses as Record<string, oas31.ResponseObject>;
  const pdf = { schema: { type: 'string' as const, format: 'binary', description: 'The record on paper.' } };
  return {
    ...operation,
    parameters: [...parameters.slice(0, -1), formatParameter, ...parameters.slice(-1)],
    responses: {
      ...others,
      200: {
        ...found,
        description: 'The requested record.',
        content: { ...found?.content, 'application/pdf': pdf },
      },
      422: { $ref: '#/components/responses/Unsettable' },
    },
  };
}
