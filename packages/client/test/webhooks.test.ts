// Verification of webhooks: what the libraries of Standard Webhooks sign is accepted, and nothing else.
import { execFile } from 'node:child_process';
import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { Webhook as Svix } from 'svix';
import { describe, expect, it } from 'vitest';
import { type VerifyOptions, verifyWebhook } from '../src/index.ts';

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
const pair = generateKeyPairSync('ed25519');
const publicKey = `whpk_${pair.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64')}`;

const id = 'msg_01993e5f7e2a7c589a523b1c8f0d4e21';
const now = new Date('2026-11-29T08:00:00Z');
const seconds = String(now.getTime() / 1_000);
const body = '{"type":"records.changed","timestamp":"2026-11-29T07:59:59.000Z","data":{"resource":"Straße"}}';
const byLibrary = new Webhook(secret).sign(id, now, body);
const byKey = `v1a,${sign(null, Buffer.from(`${id}.${seconds}.${body}`), pair.privateKey).toString('base64')}`;

const sent = (signature: string) => ({
  'webhook-id': id,
  'webhook-timestamp': seconds,
  'webhook-signature': signature,
});
const verify = (
  signature: string,
  keys: string | string[] = secret,
  given: { text?: string; headers?: Record<string, string | undefined>; options?: VerifyOptions } = {},
) => {
  const { text = body, headers = {}, options } = given;
  return verifyWebhook(text, { ...sent(signature), ...headers }, keys, { now, ...options });
};

describe('a message', () => {
  it.each([
    ['of standardwebhooks', byLibrary, secret],
    ['of svix', new Svix(secret).sign(id, now, body), secret],
    ['by a public key', byKey, publicKey],
    ['in a rotation', `v1,AAAA ${byLibrary} ${byKey}`, secret],
    ['in a rotation, by the new key', byLibrary, [other, secret]],
  ])('%s is accepted', async (_of, signature, keys) => {
    expect(await verify(signature, keys)).toEqual({ ...JSON.parse(body), id });
  });

  it('may come as bytes, with the headers of fetch', async () => {
    const given = verifyWebhook(Buffer.from(body), new Headers(sent(byLibrary)), secret, { now });
    expect((await given).id).toBe(id);
  });

  const at = (ms: number): { options: VerifyOptions } => ({ options: { now: new Date(now.getTime() + ms) } });
  it.each<[string, string, Parameters<typeof verify>]>([
    ['without a header', 'missing_header', [byLibrary, secret, { headers: { 'webhook-id': undefined } }]],
    ['of long ago', 'bad_timestamp', [byLibrary, secret, at(301_000)]],
    ['of the future', 'bad_timestamp', [byLibrary, secret, at(-301_000)]],
    ['without a time', 'bad_timestamp', [byLibrary, secret, { headers: { 'webhook-timestamp': 'x' } }]],
    [
      'with another time',
      'bad_signature',
      [byLibrary, secret, { headers: { 'webhook-timestamp': `${Number(seconds) + 1}` } }],
    ],
    ['with another id', 'bad_signature', [byLibrary, secret, { headers: { 'webhook-id': 'msg_2' } }]],
    ['with another body', 'bad_signature', [byLibrary, secret, { text: `${body} ` }]],
    ['by another key', 'bad_signature', [byLibrary, other]],
    ['by no key', 'bad_signature', [byLibrary, []]],
    ['by a signature of another kind', 'bad_signature', [byLibrary.replace('v1,', 'v1a,'), secret]],
    ['with a signature that is no base64', 'bad_signature', ['v1,ä v1 v2,AAAA', secret]],
    ['for a key without its kind', 'bad_key', [byLibrary, secret.slice('whsec_'.length)]],
    ['for a key that is too short', 'bad_key', [byLibrary, 'whsec_AAAA']],
    ['for a public key that is too long', 'bad_key', [byKey, `whpk_${'A'.repeat(64)}`]],
  ])('%s is refused', async (_of, code, given) => {
    await expect(verify(...given)).rejects.toMatchObject({ name: 'WebhookError', code });
  });

  it('that is no JSON is refused', async () => {
    const signature = new Webhook(secret).sign(id, now, '{');
    await expect(verify(signature, secret, { text: '{' })).rejects.toMatchObject({ code: 'bad_body' });
  });
});

describe('the package', () => {
  it('is installed from its file and has no dependencies', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'portal-client-'));
    const run = promisify(execFile);
    try {
      await run('npm', ['pack', '--silent', '--pack-destination', folder], {
        cwd: path.join(import.meta.dirname, '..'),
      });
      const [file = ''] = await readdir(folder);
      await run('tar', ['-xzf', file], { cwd: folder });
      const given = JSON.stringify([body, sent(byLibrary), secret]);
      const program = `import { verifyWebhook } from './package/dist/index.js';
        const event = await verifyWebhook(...${given}, { now: new Date(${now.getTime()}) });
        console.log(event.data.resource);`;
      const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], {
        cwd: folder,
      });
      expect(stdout).toBe('Straße\n');
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
