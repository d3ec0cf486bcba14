// Requests and responses that are born as Express wants them. Express gives each a new prototype when it comes in, which V8 takes
// for a change of the object's shape; where the prototype is right already, that does nothing.
import { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Express } from 'express';

export type Messages = { readonly IncomingMessage: typeof IncomingMessage; readonly ServerResponse: typeof ServerResponse };

/** For `createServer`, before there is an application. */
export function openMessages(): Messages {
  class ExpressRequest extends IncomingMessage {}
  class ExpressResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {}
  Object.setPrototypeOf(ExpressRequest.prototype, express.request);
  Object.setPrototypeOf(ExpressResponse.prototype, express.response);
  return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse };
}

/** The application takes them as its own. One application for each. */
export function adoptMessages(app: Express, messages: Messages): void {
  const own = { request: messages.IncomingMessage.prototype, response: messages.ServerResponse.prototype };
  for (const prototype of Object.values(own)) Object.defineProperty(prototype, 'app', { value: app, configurable: true, writable: true });
  Object.assign(app, own);
}
