// The outcome of handing a mail over, the options of doing so, and the redaction of mail servers' replies.

export type MailOutcome =
  | { readonly kind: 'sent' }
  /** Failed for good, usually because the server rejected the mail permanently: trying again can't help. */
  | { readonly kind: 'failed'; readonly error: string }
  /** Certainly not delivered: may be retried. */
  | { readonly kind: 'deferred'; readonly error: string }
  /** Perhaps delivered: must never be retried automatically. */
  | { readonly kind: 'unknown'; readonly error: string };

export type SmtpLimits = {
  readonly connectMs: number;
  /** For everything until the server asks for the message (its reply to DATA). */
  readonly envelopeMs: number;
  /** For the message and the server's final reply, which may take minutes where messages are scanned. */
  readonly dataMs: number;
  /** For a message that is under way when the process stops. */
  readonly stopMs: number;
};

export type SendOptions = {
  /** Awaited when the server asks for the message, before its first byte; a throw defers the mail. */
  readonly beforeData: () => Promise<void>;
  /** Ends the delivery early: at once before the message is under way, otherwise after `limits.stopMs`. */
  readonly stop?: AbortSignal;
  readonly limits?: Partial<SmtpLimits>;
};

/**
 * A mail server's reply, made safe for operators. A server may quote the message that it refuses, links
 * included: everything that looks like a link or a secret is removed. At most 300 characters.
 */
export const redactSecrets = (text: string): string =>
  text
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .replaceAll(/\S*(:\/\/|#)\S*/g, '[…]')
    .replaceAll(/[A-Za-z0-9_=-]{20,}/g, '[…]')
    .slice(0, 300)
    .toWellFormed()
    .trim();
