// What items of the sidebar can lead to, and blocks of pages can show.
import { useGet } from '../../query.ts';
import { may } from '../../session.ts';
import { first100 } from './objects.tsx';

export type Options = readonly (readonly [value: string, title: string])[];
/** By the kind of an item. */
export type Targets = Readonly<Record<'view' | 'page' | 'record-type', Options>>;

/** What items can lead to: what visitors may see. */
export function useTargets(): Targets {
  const views = useGet(may('view:read') ? '/views' : null, first100({ visibility: 'organization' as const }));
  const pages = useGet('/portal/pages', first100());
  const access = useGet('/portal/access');
  return {
    view: views.data?.data.map(({ id, name }) => [id, name] as const) ?? [],
    page: pages.data?.data.map(({ id, title }) => [id, title] as const) ?? [],
    'record-type': access.data?.records.map(({ recordType }) => [recordType, recordType] as const) ?? [],
  };
}

/** The choices, with the value that is set even if it isn't one of them; `first` is said while none is set. */
export const withValue = (options: Options, value: string, first: string): Options =>
  options.some(([one]) => one === value) ? options : [[value, value || first], ...options];
