// Turns whatever a provider or its library throws into a ModelError in plain words. What a provider says of a failure may quote the
// request or a part of the key, so none of it goes into the message.
import { APICallError, EmptyResponseBodyError, InvalidResponseDataError, JSONParseError, TypeValidationError } from 'ai';
import { ModelError, type ModelErrorKind } from './model.ts';

type Reason = readonly [ModelErrorKind, string];

const longestCause = 500;
const tooLong = /context.{0,20}(length|window|limit)|too (long|large|many tokens)|maximum.{0,40}tokens|exceed.{0,40}tokens/i;

function byStatus(status: number, body: string): Reason {
  if (status === 401 || status === 403) return ['refused-credentials', "The model's provider refused this service's credentials"];
  if (status === 429) return ['rate-limited', "The model's provider is too busy, or its quota is used up; try again later"];
  if (status === 413 || (status === 400 && tooLong.test(body))) return ['too-long', 'The conversation is longer than the model takes'];
  if (status === 404) return ['rejected', "The model's provider doesn't know this model or address (HTTP 404)"];
  if (status < 500) return ['rejected', `The model's provider rejected the request (HTTP ${status})`];
  return ['unavailable', `The model's provider has a failure of its own (HTTP ${status}); try again later`];
}

/** Errors that come in the middle of an answer, as `{type, message}` or as text. */
function byWords(words: string): Reason {
  if (/overloaded|unavailable|api_error|server_error|internal/i.test(words))
    return ['unavailable', "The model's provider failed in the middle of the answer; try again later"];
  if (/rate.?limit/i.test(words)) return ['rate-limited', "The model's provider is too busy; try again later"];
  if (tooLong.test(words)) return ['too-long', 'The conversation is longer than the model takes'];
  return ['unavailable', "The model's provider broke off the answer with an error of its own"];
}

const malformed: Reason = ['malformed-answer', "The model's provider sent an answer that can't be read"];
const cut: Reason = ['cut-off', "The model's answer was cut off on its way"];

const unreadable = (error: unknown): boolean =>
  JSONParseError.isInstance(error) ||
  TypeValidationError.isInstance(error) ||
  InvalidResponseDataError.isInstance(error) ||
  EmptyResponseBodyError.isInstance(error);

function reasonOf(error: unknown): Reason {
  if (APICallError.isInstance(error)) {
    if (error.statusCode === undefined) return ['unavailable', "The model's provider can't be reached"];
    if (error.statusCode >= 400) return byStatus(error.statusCode, error.responseBody ?? '');
    return unreadable(error.cause) ? malformed : cut;
  }
  // The stream ended before the provider said why.
  if (InvalidResponseDataError.isInstance(error) && error.data === undefined) return cut;
  if (unreadable(error)) return malformed;
  // What fetch throws when the connection breaks under an answer.
  if (error instanceof TypeError || (error instanceof Error && error.name === 'SocketError')) return cut;
  if (error instanceof Error) return ['unavailable', "The model's provider could not answer"];
  return byWords(typeof error === 'string' ? error : (JSON.stringify(error) ?? ''));
}

/** `secrets` are taken out of what goes to the log. */
export function providerError(error: unknown, secrets: readonly string[]): ModelError {
  const [kind, message] = reasonOf(error);
  const said = APICallError.isInstance(error)
    ? `${error.statusCode ?? ''} ${error.message} ${error.responseBody ?? ''}`
    : String(error instanceof Error ? error.message : (JSON.stringify(error) ?? error));
  const clean = secrets.reduce((text, secret) => (secret === '' ? text : text.replaceAll(secret, '[secret]')), said);
  return new ModelError(kind, message, { cause: new Error(clean.slice(0, longestCause)) });
}

export const cutOff = (): ModelError => new ModelError(...cut);
export const emptyAnswer = (): ModelError => new ModelError('malformed-answer', 'The model answered nothing');
