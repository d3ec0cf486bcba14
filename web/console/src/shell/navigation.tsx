import { Icon } from '../parts/icon.tsx';
import { base, path } from '../router.ts';
import { areas } from '../screens.ts';
import { may } from '../session.ts';

const isCurrent = (to: string): boolean =>
  to === '/' ? path.value === '/' : path.value === to || path.value.startsWith(`${to}/`);

/** The links that the person's permissions allow. */
export function Navigation({ onChosen }: { onChosen: () => void }) {
  return (
    <nav aria-label="Console">
      {areas.map(({ title, links }) => {
        const shown = links.filter(([, , , permission]) => permission === undefined || may(permission));
        if (shown.length === 0) return null;
        return (
          <div class="area" key={title}>
            {title !== '' && <p>{title}</p>}
            <ul>
              {shown.map(([to, name, icon]) => (
                <li key={to}>
                  <a
                    href={`${base}${to === '/' ? '' : to}`}
                    aria-current={isCurrent(to) ? 'page' : undefined}
                    onClick={onChosen}
                  >
                    <Icon name={icon} />
                    {name}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        );
      })}
    </nav>
  );
}
