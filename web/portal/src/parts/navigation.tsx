// Links to the pages: at the top as many as surely fit, the others in a menu; in the narrow menu one below another.
import type { NavigationItem } from '../../../../src/portal/view-model.ts';
import { safeAddress } from '../addresses.ts';
import { useView, type View } from '../view.ts';
import { Icon } from './icon.tsx';

const maxAtTop = 6;
/** Characters that fit next to a short name of the company; each link takes the room of some more. */
const maxCharacters = 78;
const charactersPerLink = 4;
const shortName = 16;

/** How many items are at the top: all others come into a menu. */
function countAtTop({ frame, label }: View): number {
  let room = maxCharacters - Math.max(0, Math.min(frame.brand.name.length, 30) - shortName);
  const fits = frame.navigation.findIndex((item) => {
    room -= label(item.label).length + charactersPerLink;
    return room < 0;
  });
  const count = fits === -1 ? frame.navigation.length : fits;
  return frame.navigation.length <= maxAtTop && fits === -1 ? count : Math.min(count, maxAtTop - 1);
}

const ItemLink = ({ item, name = 'choice' }: { item: NavigationItem; name?: string }) => {
  const view = useView();
  const address = item.href === null ? undefined : safeAddress(item.href);
  if (address === undefined) return <span class="choice group-name">{view.label(item.label)}</span>;
  return (
    <a
      class={name}
      href={address}
      aria-current={item.isCurrent ? 'page' : undefined}
      rel={item.isExternal ? 'noopener noreferrer' : undefined}
    >
      {view.label(item.label)}
      {item.isExternal && (
        <>
          <Icon name="external" />
          <span class="hidden-text"> {view.text('frame.external')}</span>
        </>
      )}
    </a>
  );
};

export const NavigationList = ({ items }: { items: readonly NavigationItem[] }) => (
  <ul class="links">
    {items.map((item, at) => (
      <li key={at}>
        <ItemLink item={item} />
        {item.children.length > 0 && <NavigationList items={item.children} />}
      </li>
    ))}
  </ul>
);

const hasCurrent = ({ isCurrent, children }: NavigationItem): boolean =>
  isCurrent || children.some(hasCurrent);

const Menu = ({ title, items }: { title: string; items: readonly NavigationItem[] }) => (
  <details class="drop" name="top">
    <summary class={items.some(hasCurrent) ? 'on' : undefined}>
      {title}
      <Icon name="fold" />
    </summary>
    <div class="panel">
      <NavigationList items={items} />
    </div>
  </details>
);

/** An item with children is a menu, with its own page as the first link if it has one. */
const TopItem = ({ item }: { item: NavigationItem }) => {
  const view = useView();
  if (item.children.length === 0) return <ItemLink item={item} name="top-link" />;
  const own = item.href === null ? [] : [{ ...item, children: [] }];
  return <Menu title={view.label(item.label)} items={[...own, ...item.children]} />;
};

export const Navigation = () => {
  const view = useView();
  const { navigation } = view.frame;
  const count = countAtTop(view);
  const rest = navigation.slice(count);
  return (
    <nav class="nav" aria-label={view.text('frame.pages')}>
      <ul>
        {navigation.slice(0, count).map((item, at) => (
          <li key={at}>
            <TopItem item={item} />
          </li>
        ))}
        {rest.length > 0 && (
          <li>
            <Menu title={view.text('frame.more')} items={rest} />
          </li>
        )}
      </ul>
    </nav>
  );
};
