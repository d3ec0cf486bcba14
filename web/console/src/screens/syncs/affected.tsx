// Whom the problems of a sync affect: versions, their fields, and how many callers read them lately.
import type { Answer } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { useGet } from '../../query.ts';
import { base } from '../../router.ts';

type Version = Answer<'/sync-configs/{id}/affected-versions'>['versions'][number];

/** `v1 · invoices.dueDate · 1 caller`. */
function describe({ version, resource, staleFields, callers7Days: callers }: Version): string {
  const what = staleFields.map((field) => `${resource}.${field}`).join(', ') || resource;
  return [version, what, callers !== null && formatCount(callers, 'caller')].filter(Boolean).join(' · ');
}

/** `whole`: all fields are affected, beside those that are stale. */
export function Affected({ syncId, whole }: { syncId: string; whole: boolean }) {
  const { data } = useGet('/sync-configs/{id}/affected-versions', { path: { id: syncId } });
  if (data === undefined) return null;
  const affected = data.versions.filter(({ staleFields }) => whole || staleFields.length > 0);
  const { portal } = data;
  const isPortal = portal !== null && (whole || portal.staleFields.length > 0);
  return (
    <li class="reason">
      <h3>
        {affected.length === 0
          ? `No published version is affected${isPortal ? ', but the portal is' : ''}`
          : 'Affected, with the callers of the last 7 days'}
      </h3>
      <ul class="bullets">
        {affected.map((version) => (
          <li key={`${version.version} ${version.resource}`}>
            <a href={`${base}/schemas/${version.id}?show=callers`}>{describe(version)}</a>
          </li>
        ))}
        {isPortal && (
          <li>
            <a href={`${base}/portal`}>{['The portal', ...portal.staleFields].join(' · ')}</a>
          </li>
        )}
      </ul>
    </li>
  );
}
