// What became of handing a mail over, and in which words it is told.

export type MailOutcome =
  | { readonly kind: 'sent' }
  /** For good: the server wants neither this mail now nor later. */
  | { readonly kind: 'refused'; readonly error: string }
  /** Certainly not delivered: may be tried again. */
  | { readonly kind: 'deferred'; readonly error: string }
  /** Perhaps delivered: never to be sent again by itself. */
  | { readonly kind: 'unknown'; readonly error: string };

export type SmtpLimits = {
  readonly connectMs: number;
  /** For everything up to the server's wish for the message. */
  readonly envelopeMs: number;
  /** For the message and the server's word on it, which may take a scanner minutes. */
  readonly dataMs: number;
  /** How long a message under way may still take when the process stops. */
  readonly stopMs: number;
};

export type SendOptions = {
  /** Awaited once the server wants the message and before its first byte leaves; when it throws, the mail is deferred. */
  readonly beforeData: () => Promise<void>;
  /** Ends it early: at once while nothing has left, after `limits.stopMs` when the message is under way. */
  readonly stop?: AbortSignal;
  readonly limits?: Partial<SmtpLimits>;
};

/**
 * Words of a server for an operator's eyes. A server may quote the message it refuses, links included: whatever looks like a link
 * or a secret is cut out.
 */
export const withoutSecrets = (text: string): string =>
  text
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .replaceAll(/\S*(:\/\/|#)\S*/g, '[…]')
    .replaceAll(/[A-Za-z0-9_=-]{20,}/g, '[…]')
    .slice(0, 300)
    .toWellFormed()
    .trim();
