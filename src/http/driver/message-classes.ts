// Request and response classes that already have the prototypes Express wants. Express replaces the prototype
// of each incoming message, which V8 treats as a change of the object's shape; when the prototype is already
// right, the replacement costs nothing. A response that is destroyed after it began resets its connection:
// over HTTP/1.0 an ordinary end would make the part look like the whole.
import { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Express } from 'express';

export type MessageClasses = {
  readonly IncomingMessage: typeof IncomingMessage;
  readonly ServerResponse: typeof ServerResponse;
};

/** Options for Node's `createServer`, which needs the classes before the application exists. */
export function createMessageClasses(): MessageClasses {
  class ExpressRequest extends IncomingMessage {}
  class ExpressResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
    override destroy(error?: Error): this {
      if (this.headersSent && !this.writableFinished) this.socket?.resetAndDestroy();
      return super.destroy(error);
    }
  }
  Object.setPrototypeOf(ExpressRequest.prototype, express.request);
  Object.setPrototypeOf(ExpressResponse.prototype, express.response);
  return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse };
}

/** Makes the classes the application's own. Each pair of classes serves one application only. */
export function adoptMessageClasses(app: Express, messages: MessageClasses): void {
  const own = { request: messages.IncomingMessage.prototype, response: messages.ServerResponse.prototype };
  for (const prototype of Object.values(own))
    Object.defineProperty(prototype, 'app', { value: app, configurable: true, writable: true });
  Object.assign(app, own);
}
