import { helpAddress } from '../help.ts';
import { keep, readKept } from '../kept.ts';
import { Icon, type IconName } from '../parts/icon.tsx';
import { base, path } from '../router.ts';
import { areas } from '../screens.ts';
import { openRuns } from '../service-state.ts';
import { may } from '../session.ts';

const isCurrent = (to: string): boolean =>
  to === '/' ? path.value === '/' : path.value === to || path.value.startsWith(`${to}/`);

type LinkProps = {
  to: string;
  icon: IconName;
  name: string;
  current?: boolean;
  isRunning?: boolean;
  onChosen?: () => void;
};
const NavigationLink = ({ to, icon, name, current = false, isRunning = false, onChosen }: LinkProps) => (
  <li>
    <a href={to} aria-current={current ? 'page' : undefined} onClick={onChosen}>
      <Icon name={icon} />
      {name}
      {isRunning && (
        <span class="running">
          <span class="visually-hidden">running</span>
        </span>
      )}
    </a>
  </li>
);

const foldedName = 'folded areas';
const readFolded = (): readonly string[] => readKept(foldedName, 'localStorage') ?? [];
const keepFolded = (title: string, isOpen: boolean): void => {
  const others = readFolded().filter((one) => one !== title);
  keep(foldedName, isOpen ? others : [...others, title], 'localStorage');
};

/** The links that the person's permissions allow, in groups that fold. */
export function Navigation({ onChosen }: { onChosen: () => void }) {
  const folded = readFolded();
  return (
    <nav aria-label="Console">
      {areas.map(({ title, links }) => {
        const shown = links.filter(([, , , ...permissions]) => may(...permissions));
        if (shown.length === 0) return null;
        const list = (
          <ul>
            {shown.map(([to, name, icon]) => (
              <NavigationLink
                key={to}
                to={`${base}${to === '/' ? '' : to}`}
                icon={icon}
                name={name}
                current={isCurrent(to)}
                isRunning={to === '/syncs' && openRuns.value > 0}
                onChosen={onChosen}
              />
            ))}
          </ul>
        );
        return title === '' ? (
          <div class="area" key={title}>
            {list}
          </div>
        ) : (
          <details
            class="area"
            key={title}
            open={!folded.includes(title)}
            onToggle={({ currentTarget }) => keepFolded(title, currentTarget.open)}
          >
            <summary>
              {title}
              <Icon name="fold" />
            </summary>
            {list}
          </details>
        );
      })}
    </nav>
  );
}

/** Where to read more: about the screen that is shown, and about every operation. */
export const HelpLinks = () => (
  <ul class="area">
    <NavigationLink to={helpAddress(path.value)} icon="docs" name="Documentation" />
    <NavigationLink to="/api/platform/v1/openapi/preview" icon="versions" name="API reference" />
  </ul>
);
