// The demo's organization and its two API keys. A key's secret exists only in demo.json: when that file is
// missing, new keys are created and the demo's older ones revoked.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { Ctx } from '../src/core/ctx.ts';
import { createId } from '../src/core/id.ts';
import { inTransaction } from '../src/db/transaction.ts';
import { findApiKey } from '../src/identity/api-key.store.ts';
import { generateApiKey } from '../src/identity/api-key.ts';
import { provisionOrganization } from '../src/platform/organizations/organizations.service.ts';
import { owner } from './people.ts';
import { writePrivateJson } from './private-file.ts';

const slug = 'demo';

export const DemoFile = z.object({
  baseUrl: z.string(),
  tenantId: z.string(),
  apiKey: z.string(),
  managementKey: z.string(),
  version: z.string(),
  resources: z.array(z.string()),
  /** Absent in files written before the demo had an agent. */
  agentId: z.string().optional(),
  netsuiteUrl: z.string(),
  /** The simulated account's control interface. Absent in files written before there was one. */
  erpControl: z.object({ url: z.string(), token: z.string() }).optional(),
  /** Absent in files written before the demo had an identity provider. */
  identityProviderUrl: z.string().optional(),
});
export type DemoFile = z.output<typeof DemoFile>;
type Keys = Pick<DemoFile, 'tenantId' | 'apiKey' | 'managementKey'>;

const demoFilePath = (dataDir: string): string => path.join(dataDir, 'demo.json');

/** The file of the previous run; undefined when it is missing or not in this form. */
export async function readDemoFile(dataDir: string): Promise<DemoFile | undefined> {
  try {
    const parsed = DemoFile.safeParse(JSON.parse(await readFile(demoFilePath(dataDir), 'utf8')));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}

/** Rejects with the file system's error when the file can't be written. */
export const writeDemoFile = (dataDir: string, file: DemoFile): Promise<void> =>
  writePrivateJson(demoFilePath(dataDir), file);

async function ensureDemoOrganization(ctx: Ctx): Promise<string> {
  const { rows } = await ctx.db.control.raw<{ rows: { id: string }[] }>('select id from all_organizations()');
  for (const { id } of rows) {
    const found = await inTransaction({ db: ctx.db, organizationId: id }, (tx) =>
      tx('organizations').where({ id, slug }).first<{ id: string } | undefined>('id'),
    );
    if (found !== undefined) return id;
  }
  return (
    await provisionOrganization(ctx, {
      name: 'Demo wholesaler',
      slug,
      ownerEmail: owner.email,
      ownerName: owner.name,
    })
  ).id;
}

async function areKeysValid(ctx: Ctx, file: DemoFile): Promise<boolean> {
  const found = await Promise.all([findApiKey(ctx, file.apiKey), findApiKey(ctx, file.managementKey)]);
  return found.every((key) => key?.organization.id === file.tenantId);
}

/**
 * The known keys if both still work; otherwise creates the organization if necessary, revokes the demo's
 * older keys and creates new ones.
 */
export async function ensureDemoKeys(ctx: Ctx, known: DemoFile | undefined): Promise<Keys> {
  if (known !== undefined && (await areKeysValid(ctx, known))) {
    return { tenantId: known.tenantId, apiKey: known.apiKey, managementKey: known.managementKey };
  }
  const tenantId = await ensureDemoOrganization(ctx);
  const reading = generateApiKey();
  const managing = generateApiKey();
  await inTransaction({ db: ctx.db, organizationId: tenantId }, async (tx) => {
    const first = await tx('memberships').orderBy('joined_at').first<{ user_id: string }>('user_id');
    await tx('api_keys')
      .where('name', 'like', 'Demo: %')
      .whereNull('revoked_at')
      .update({ revoked_at: tx.fn.now() });
    const row = (name: string, key: typeof reading, permissions: string[]) => ({
      id: createId(),
      organization_id: tenantId,
      name,
      prefix: key.prefix,
      secret_hash: key.hash,
      scope_permissions: permissions,
      created_by: first?.user_id,
    });
    await tx('api_keys').insert([
      row('Demo: reading', reading, ['read']),
      row('Demo: management', managing, ['read', 'write']),
    ]);
  });
  return { tenantId, apiKey: reading.secret, managementKey: managing.secret };
}

/**
 * The set-up's requests count against the rate limits of the key that it prints and of its organization:
 * gives the key its whole budget again.
 */
export async function restoreBudget(ctx: Ctx, { managementKey }: Keys): Promise<void> {
  const key = await findApiKey(ctx, managementKey);
  if (key === undefined) return;
  await ctx.db.control.raw('delete from rate_limits where key in (?, ?)', [
    `key:${key.id}`,
    `organization:${key.organization.id}`,
  ]);
}
