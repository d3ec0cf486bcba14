// The demo's company with its real transactions synced and its version published, and that version's tools.

import { createApp, startBackground } from '../../../src/app.ts';
import type { Ctx, TenantCtx } from '../../../src/core/ctx.ts';
import { demoEndpoints } from '../../../src/demo/schema.ts';
import { openVersionTools, type VersionTool } from '../../../src/public/index.ts';
import { publishVersion } from '../../public/fixture.ts';
import { apiOf } from '../../setup/api.ts';
import { type TestDatabase, testDatabase, testSettings } from '../../setup/database.ts';
import { startErp } from '../../setup/erp.ts';
import { makeKey, makeOrganization } from '../../setup/organization.ts';
import { until } from '../../setup/until.ts';

export type DemoVersion = {
  readonly ctx: Ctx;
  readonly database: TestDatabase;
  readonly tenant: TenantCtx;
  readonly tools: readonly VersionTool[];
  close(): Promise<void>;
};

export async function openDemoVersion(): Promise<DemoVersion> {
  const erp = await startErp();
  const database: TestDatabase = await testDatabase({ settings: { erp: { ...testSettings.erp, allowedHosts: [erp.host] } } });
  const { ctx } = database;
  const app = createApp(ctx);
  const background = await startBackground(ctx);
  const { id: organizationId } = await makeOrganization(ctx);
  const { secret } = await makeKey(ctx, organizationId, { permissions: ['write'] });
  const api = apiOf(app, secret);
  await erp.connect(api);
  await api('post', '/netsuite/metadata/refresh');
  for (const { recordType } of demoEndpoints) {
    const { body: config } = await api('post', '/sync-configs', { name: recordType, recordType });
    const { body: run } = await api('post', `/sync-configs/${config.id}/trigger`, {});
    await until(async () => {
      const { body } = await api('get', `/sync-runs/${run.id}`);
      if (body.status === 'succeeded') return true;
      if (['partial', 'failed', 'cancelled'].includes(body.status)) throw new Error(JSON.stringify(body));
      return undefined;
    });
  }
  await publishVersion(ctx, organizationId, { endpoints: demoEndpoints });
  const tenant = { ...ctx, organizationId };
  await background.stop();
  await erp.stop();
  return {
    ctx,
    database,
    tenant,
    tools: openVersionTools(ctx)(tenant, { version: 'v1', resources: [], mostCharacters: 60_000 }),
    close: database.close,
  };
}
