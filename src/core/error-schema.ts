// The JSON schema of error responses, for the OpenAPI documents of both interfaces.
import { errorStatus } from './errors.ts';

type Texts = {
  readonly message: string;
  readonly path: string;
  readonly code?: string;
  readonly detail?: string;
  readonly requestId?: string;
};

const text = (description: string | undefined) => ({
  type: 'string' as const,
  ...(description !== undefined && { description }),
});

export const describeErrors = ({ message, path, code, detail, requestId }: Texts) => ({
  type: 'object' as const,
  required: ['error'],
  properties: {
    error: {
      type: 'object' as const,
      required: ['code', 'message', 'requestId'],
      properties: {
        code: { type: 'string' as const, enum: Object.keys(errorStatus) },
        message: text(message),
        details: {
          type: 'array' as const,
          items: {
            type: 'object' as const,
            required: ['path', 'code', 'message'],
            properties: { path: text(path), code: text(code), message: text(detail) },
          },
        },
        requestId: text(requestId),
      },
    },
  },
});
