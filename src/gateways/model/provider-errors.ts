// Converts whatever a provider or its library throws to a ModelError with a message of our own. A provider's
// error text may quote the request or part of the key, so none of it goes into the message.
import {
  APICallError,
  EmptyResponseBodyError,
  InvalidResponseDataError,
  JSONParseError,
  TypeValidationError,
} from 'ai';
import { ModelError, type ModelErrorKind } from './model.ts';

type Reason = readonly [ModelErrorKind, string];

const maxCauseCharacters = 500;
const tooLongPattern =
  /context.{0,20}(length|window|limit)|too (long|large|many tokens)|maximum.{0,40}tokens|exceed.{0,40}tokens/i;

function byStatus(status: number, body: string): Reason {
  if (status === 401 || status === 403)
    return ['refused-credentials', "The model's provider refused this service's credentials"];
  if (status === 429)
    return ['rate-limited', "The model's provider is too busy, or its quota is used up; try again later"];
  if (status === 413 || (status === 400 && tooLongPattern.test(body)))
    return ['too-long', "The conversation exceeds the model's context length"];
  if (status === 404)
    return ['rejected', "The model's provider doesn't know this model or address (HTTP 404)"];
  if (status < 500) return ['rejected', `The model's provider rejected the request (HTTP ${status})`];
  return ['unavailable', `The model's provider failed (HTTP ${status}); try again later`];
}

/** Classifies errors in the middle of an answer, which are `{type, message}` or text, by their words. */
function byMessage(words: string): Reason {
  if (/overloaded|unavailable|api_error|server_error|internal/i.test(words))
    return ['unavailable', "The model's provider failed in the middle of the answer; try again later"];
  if (/rate.?limit/i.test(words))
    return ['rate-limited', "The model's provider is too busy; try again later"];
  if (tooLongPattern.test(words)) return ['too-long', "The conversation exceeds the model's context length"];
  return ['unavailable', "The model's provider ended the answer with an error"];
}

const malformed: Reason = ['malformed-answer', "The model's provider sent a malformed response"];
const cut: Reason = ['cut-off', "The model's answer was cut off before its end"];

const unreadable = (error: unknown): boolean =>
  JSONParseError.isInstance(error) ||
  TypeValidationError.isInstance(error) ||
  InvalidResponseDataError.isInstance(error) ||
  EmptyResponseBodyError.isInstance(error);

function classifyError(error: unknown): Reason {
  if (APICallError.isInstance(error)) {
    if (error.statusCode === undefined) return ['unavailable', "The model's provider can't be reached"];
    if (error.statusCode >= 400) return byStatus(error.statusCode, error.responseBody ?? '');
    return unreadable(error.cause) ? malformed : cut;
  }
  // The stream ended without a finish reason.
  if (InvalidResponseDataError.isInstance(error) && error.data === undefined) return cut;
  if (unreadable(error)) return malformed;
  // What fetch throws when the connection breaks in the middle of a response.
  if (error instanceof TypeError || (error instanceof Error && error.name === 'SocketError')) return cut;
  if (error instanceof Error) return ['unavailable', "The model's provider failed"];
  return byMessage(typeof error === 'string' ? error : (JSON.stringify(error) ?? ''));
}

/** The error's text goes to `cause`, for the log, with `secrets` replaced. */
export function providerError(error: unknown, secrets: readonly string[]): ModelError {
  const [kind, message] = classifyError(error);
  const original = APICallError.isInstance(error)
    ? `${error.statusCode ?? ''} ${error.message} ${error.responseBody ?? ''}`
    : String(error instanceof Error ? error.message : (JSON.stringify(error) ?? error));
  const clean = secrets.reduce(
    (text, secret) => (secret === '' ? text : text.replaceAll(secret, '[secret]')),
    original,
  );
  return new ModelError(kind, message, { cause: new Error(clean.slice(0, maxCauseCharacters)) });
}

export const answerCutOff = (): ModelError => new ModelError(...cut);
export const emptyAnswer = (): ModelError =>
  new ModelError('malformed-answer', 'The model returned an empty answer');
