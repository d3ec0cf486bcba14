// Standard Webhooks 1.0: how a message is signed, and the secrets that sign it.
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
} from 'node:crypto';

export const signatureKinds = ['v1', 'v1a'] as const;
/** `v1`: HMAC-SHA256 with a shared secret. `v1a`: ed25519; receivers have the public key alone. */
export type SignatureKind = (typeof signatureKinds)[number];

const symmetric = 'whsec_';
const privateKey = 'whsk_';
const publicKey = 'whpk_';
const secretBytes = 32;
/** DER of an ed25519 private key before its 32 bytes: RFC 8410. */
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex');

const decode = (text: string): Buffer => Buffer.from(text.slice(text.indexOf('_') + 1), 'base64');
const importPrivate = (secret: string) =>
  createPrivateKey({ key: Buffer.concat([pkcs8Head, decode(secret)]), format: 'der', type: 'pkcs8' });

/** A shared secret, or a private key. */
export function createWebhookSecret(kind: SignatureKind): string {
  if (kind === 'v1') return symmetric + randomBytes(secretBytes).toString('base64');
  const der = generateKeyPairSync('ed25519').privateKey.export({ format: 'der', type: 'pkcs8' });
  return privateKey + der.subarray(pkcs8Head.length).toString('base64');
}

/** What receivers verify with. It is secret when it is shared. */
export function toVerificationKey(secret: string): string {
  if (secret.startsWith(symmetric)) return secret;
  const der = createPublicKey(importPrivate(secret)).export({ format: 'der', type: 'spki' });
  return publicKey + der.subarray(-32).toString('base64');
}

/** The value of `webhook-signature`: one signature for each secret, while a former one still counts. */
export function signMessage(
  secrets: readonly string[],
  { id, timestamp, body }: { readonly id: string; readonly timestamp: number; readonly body: string },
): string {
  const content = Buffer.from(`${id}.${timestamp}.${body}`);
  return secrets
    .map((secret) =>
      secret.startsWith(symmetric)
        ? `v1,${createHmac('sha256', decode(secret)).update(content).digest('base64')}`
        : `v1a,${sign(null, content, importPrivate(secret)).toString('base64')}`,
    )
    .join(' ');
}
