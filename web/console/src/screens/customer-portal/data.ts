// What the screens of the portal read: its settings, and where it is served.
import type { Answer } from '../../api.ts';
import { useGet } from '../../query.ts';
import { identity, may, organizationId } from '../../session.ts';

export type Access = Answer<'/portal/access'>;
export type People = Access['people'][number];
export type ShownRecords = Access['records'][number];

export type Branding = Answer<'/portal/branding'>;

export const accessPath = '/portal/access';
export const brandingPath = '/portal/branding';

/** While it is being made ready it is read often: most preparations end soon. */
export function useAccess() {
  const read = useGet(accessPath);
  const isPreparing = read.data?.status === 'preparing';
  useGet(isPreparing ? accessPath : null, {}, { everyMs: 2_500 });
  return read;
}

export type Places = {
  /** Below the service's own host, where it can always be opened. */
  readonly own: string;
  /** The verified primary domain; null without one, undefined while it isn't known. */
  readonly domain: string | null | undefined;
  /** A domain that isn't verified yet. */
  readonly pending: string | undefined;
};

/** Where visitors find the portal. */
export function usePlaces(): Places {
  const { data } = useGet(may('domain:read') ? '/organizations/{id}/domains' : null, {
    path: { id: organizationId() },
    query: { pageSize: 100 },
  });
  const primary = data?.data.find(({ status, isPrimary }) => status === 'verified' && isPrimary);
  return {
    own: `${location.origin}/portal/${identity.value?.organization?.slug}`,
    domain: data && (primary?.hostname ?? null),
    pending: data?.data.find(({ status }) => status !== 'verified')?.hostname,
  };
}

export const toAddress = ({ own, domain }: Places): string => (domain ? `https://${domain}` : own);
