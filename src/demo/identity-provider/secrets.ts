// What the demo's identity provider must still know after a restart: its signing key and the secrets of its clients. Made once, kept
// in the data directory, readable by its owner alone.
import { generateKeyPair, type JsonWebKey, randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

const Secrets = z.object({
  signingKey: z.looseObject({ kty: z.literal('RSA'), kid: z.string(), n: z.string(), d: z.string() }),
  cookieKey: z.string().min(32),
  portalSecret: z.string().min(32),
  agentSecret: z.string().min(32),
});
export type Secrets = z.output<typeof Secrets>;

const text = (): string => randomBytes(24).toString('base64url');

export async function makeSecrets(): Promise<Secrets> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 });
  const key: JsonWebKey = { ...privateKey.export({ format: 'jwk' }), kid: text(), use: 'sig', alg: 'RS256' };
  return Secrets.parse({ signingKey: key, cookieKey: text(), portalSecret: text(), agentSecret: text() });
}

/** Those of the last run, or new ones. */
export async function keptSecrets(dataDir: string): Promise<Secrets> {
  const file = path.join(dataDir, 'identity-provider.json');
  try {
    return Secrets.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    const made = await makeSecrets();
    const fresh = `${file}.${process.pid}`;
    await writeFile(fresh, `${JSON.stringify(made, null, 2)}\n`, { mode: 0o600 });
    await rename(fresh, file);
    return made;
  }
}
