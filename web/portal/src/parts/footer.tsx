// The bottom of every page: whom to ask, and what the law asks for.
import { safeAddress } from '../addresses.ts';
import { useView } from '../view.ts';
import { Icon } from './icon.tsx';

export const Footer = () => {
  const view = useView();
  const { name, supportAddress, legalLinks } = view.frame.brand;
  const links = legalLinks.flatMap(({ label, url }) => {
    const address = safeAddress(url);
    return address === undefined ? [] : [{ label, address }];
  });
  return (
    <footer class="bottom">
      <div class="bottom-bar">
        <span>{name}</span>
        {supportAddress !== null && (
          <span class="support">
            {view.text('frame.support')}{' '}
            <a href={`mailto:${supportAddress}`}>
              <Icon name="mail" />
              {supportAddress}
            </a>
          </span>
        )}
        {links.length > 0 && (
          <nav aria-label={view.text('frame.legal')}>
            <ul>
              {links.map(({ label, address }) => (
                <li key={address}>
                  <a href={address} rel="noopener noreferrer">
                    {label}
                  </a>
                </li>
              ))}
            </ul>
          </nav>
        )}
      </div>
    </footer>
  );
};
