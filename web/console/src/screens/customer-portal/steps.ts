// The five steps of a portal with the state of each in words. Pure, but for the permissions.
import type { Answer, Item } from '../../api.ts';
import { formatCount, formatList, formatNumber } from '../../format.ts';
import { may } from '../../session.ts';
import { type Access, type Branding, type Places, toAddress } from './data.ts';

export type PortalStep = {
  readonly title: string;
  readonly text: string;
  /** `missing`, `proposed`: the portal can't be opened without it. */
  readonly state: 'done' | 'missing' | 'proposed' | 'optional' | 'broken';
  /** Below /console; undefined where the person may not go. */
  readonly to?: string | undefined;
  readonly label: string;
};

type Sources = {
  readonly access: Access;
  readonly pages: readonly Item<'/portal/pages'>[] | undefined;
  readonly sidebar: Answer<'/portal/sidebar'> | undefined;
  readonly branding: Branding | undefined;
  readonly places: Places;
};

/** Of the people or the records: what they are, or what is wrong with them. */
function toPart(access: Access, part: 'people' | 'records', none: string, words: (names: string) => string) {
  const problems = access.problems.filter(({ path }) => path.startsWith(part));
  const names = [...new Set(access[part].map(({ recordType }) => recordType))];
  if (problems.length > 0)
    return {
      state: 'broken',
      text: `${formatCount(problems.length, 'problem')}: ${problems[0]?.message}.`,
    } as const;
  if (names.length === 0) return { state: 'missing', text: none } as const;
  const text = words(formatList(names, 4));
  return access.revision === 0
    ? ({ state: 'proposed', text: `${text} Check this, and enable the portal.` } as const)
    : ({ state: 'done', text } as const);
}

function pagesStep({ pages = [], sidebar }: Sources): PortalStep {
  const published = pages.filter(({ status }) => status === 'published').length;
  const items = sidebar?.items.length ?? 0;
  const problems = sidebar?.problems.length ?? 0;
  const common = { title: 'Pages', to: '/pages', label: 'Arrange the pages' };
  if (problems > 0)
    return {
      ...common,
      to: '/pages?show=sidebar',
      state: 'broken',
      text: `The sidebar has ${formatCount(problems, 'problem')}.`,
    };
  if (published === 0 && items === 0)
    return {
      ...common,
      state: 'optional',
      text: 'Without pages and a sidebar, visitors see a list of each record type.',
    };
  return {
    ...common,
    state: 'done',
    text: `${formatCount(published, 'published page')}, and ${items === 0 ? 'the usual sidebar' : `a sidebar of ${formatCount(items, 'item')}`}.`,
  };
}

function brandStep({ branding }: Sources, name: string): PortalStep {
  const parts = [
    branding?.logo != null && 'a logo',
    branding?.accent != null && `the colour ${branding.accent}`,
    branding?.supportAddress != null && 'a support address',
  ].filter((part) => part !== false);
  const common = { title: 'Brand', to: '/portal/brand', label: 'Design it' };
  const carried = `The portal carries the name ${branding?.name ?? name}`;
  return parts.length === 0
    ? { ...common, state: 'optional', text: `${carried}, without a logo and a colour of yours.` }
    : { ...common, state: 'done', text: `${carried}, ${formatList(parts)}.` };
}

function domainStep({ places }: Sources): PortalStep {
  const { domain, pending } = places;
  const common = { title: 'Domain', to: may('domain:read') ? '/domains' : undefined };
  const address = toAddress(places);
  if (domain) return { ...common, label: 'Domains', state: 'done', text: `Visitors open ${address}.` };
  const isPending = pending !== undefined;
  return {
    ...common,
    label: isPending ? 'Show the DNS record' : 'Add a domain',
    state: 'optional',
    text: isPending
      ? `${pending} isn't the verified primary domain yet. Until it is, visitors open ${address}.`
      : `Without a domain of yours, visitors open ${address}.`,
  };
}

/** How many of the customers that gets in. */
const reach = ({ figures }: Access): string =>
  figures === null
    ? ''
    : ` ${formatNumber(figures.withAddress)} of ${formatCount(figures.customers, 'customer')} can sign in.`;

/** In the order in which one does them. */
export function listPortalSteps(sources: Sources, name: string): readonly PortalStep[] {
  const { access } = sources;
  return [
    {
      title: 'Whom it knows',
      ...toPart(
        access,
        'people',
        'Nothing says yet where the addresses of your customers are.',
        (names) => `The addresses are those of ${names} records.${reach(access)}`,
      ),
      to: '/portal/access',
      label: 'Choose whom',
    },
    {
      title: 'What it shows',
      ...toPart(
        access,
        'records',
        'No record type is shown yet.',
        (names) => `Visitors see the ${names} records of their customer.`,
      ),
      to: '/portal/access?part=records',
      label: 'Choose what',
    },
    pagesStep(sources),
    brandStep(sources, name),
    domainStep(sources),
  ];
}
