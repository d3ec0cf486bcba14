// What the demo's identity provider must keep across restarts: its signing key and its clients' secrets.
// Created once and stored in the data directory, readable by the owner only.
import { generateKeyPair, type JsonWebKey, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { writePrivateJson } from '../private-file.ts';

const IdentityProviderSecrets = z.object({
  signingKey: z.looseObject({ kty: z.literal('RSA'), kid: z.string(), n: z.string(), d: z.string() }),
  cookieKey: z.string().min(32),
  portalSecret: z.string().min(32),
  agentSecret: z.string().min(32),
});
export type IdentityProviderSecrets = z.output<typeof IdentityProviderSecrets>;

const randomText = (): string => randomBytes(24).toString('base64url');

export async function createIdentityProviderSecrets(): Promise<IdentityProviderSecrets> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 });
  const key: JsonWebKey = {
    ...privateKey.export({ format: 'jwk' }),
    kid: randomText(),
    use: 'sig',
    alg: 'RS256',
  };
  return IdentityProviderSecrets.parse({
    signingKey: key,
    cookieKey: randomText(),
    portalSecret: randomText(),
    agentSecret: randomText(),
  });
}

/**
 * Loads the secrets of the previous run; creates and stores new ones when there are none or the file is
 * unreadable.
 */
export async function loadOrCreateSecrets(dataDir: string): Promise<IdentityProviderSecrets> {
  const file = path.join(dataDir, 'identity-provider.json');
  try {
    return IdentityProviderSecrets.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    const created = await createIdentityProviderSecrets();
    await writePrivateJson(file, created);
    return created;
  }
}
