// Whom problems of a sync affect: the versions that publish its record type, the fields of them that are stale,
// how many API keys read them lately, and the portal.
import type { RequestCtx } from '../../core/ctx.ts';
import { inTransaction } from '../../db/transaction.ts';
import { readFieldGaps } from '../../sync/index.ts';
import { countResourceCallers } from '../api-keys/usage.ts';
import { listEndpointsOfRecordType } from '../api-schemas/api-schemas.store.ts';
import { listPortalUses } from '../portal/portal-uses.ts';
import { listFieldSources } from './drift.ts';
import { getConfigRow } from './syncs.service.ts';

/** Newest version first. Callers are null without `api-key:read`. Throws 404 for an unknown sync. */
export const listAffectedVersions = (ctx: RequestCtx, configId: string) =>
  inTransaction(ctx, async (tx) => {
    const { organizationId } = ctx;
    const { record_type: recordType } = await getConfigRow(tx, ctx, configId);
    const stale = (await readFieldGaps(ctx)).get(recordType)?.stale ?? {};
    const served = ['published', 'deprecated'] as const;
    const endpoints = await listEndpointsOfRecordType(tx, organizationId, recordType, served);
    const callers = ctx.principal.permissions.has('api-key:read')
      ? await countResourceCallers(tx, organizationId, [...new Set(endpoints.map(({ version }) => version))])
      : null;
    const versions = endpoints.map(({ id, version, endpoint }) => ({
      id,
      version,
      resource: endpoint.name,
      staleFields: listFieldSources(endpoint)
        .filter(({ source }) => Object.hasOwn(stale, source))
        .map(({ field }) => field),
      callers7Days: callers && (callers.get(`${version} ${endpoint.name}`) ?? 0),
    }));
    const uses = await listPortalUses(tx, organizationId, recordType);
    const ofPortal = uses.flatMap(listFieldSources).filter(({ source }) => Object.hasOwn(stale, source));
    const staleFields = [...new Set(ofPortal.map(({ source }) => source))];
    return { versions, portal: uses.length === 0 ? null : { staleFields } };
  });
