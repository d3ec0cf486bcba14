// What the company knows of the customer, where the visitor is signed in, and the language.
import type { ProfilePage } from '../../../../src/portal/view-model.ts';
import { pageAddress } from '../addresses.ts';
import { Card } from '../parts/card.tsx';
import { Fields } from '../parts/fields.tsx';
import { AsOf, Title } from '../parts/title.tsx';
import { languageName } from '../texts.ts';
import { useView } from '../view.ts';

type Session = ProfilePage['sessions'][number];

const SessionItem = ({ session }: { session: Session }) => {
  const view = useView();
  const browser = session.browser ?? view.text('profile.unknownBrowser');
  return (
    <li>
      <div>
        <p class="session-name">
          <b>{browser}</b>
          {session.isCurrent && <span class="chip good">{view.text('profile.current')}</span>}
        </p>
        <p class="fine">
          {view.text('profile.started', { time: view.instant(session.startedAt) })}
          {' · '}
          {view.text('profile.lastSeen', { time: view.instant(session.lastSeenAt) })}
        </p>
      </div>
      {!session.isCurrent && (
        <button type="submit" class="button" name="session" value={session.id}>
          {view.text('profile.end')}
          <span class="hidden-text">: {browser}</span>
        </button>
      )}
    </li>
  );
};

const Sessions = ({ sessions }: Pick<ProfilePage, 'sessions'>) => {
  const view = useView();
  return (
    <Card title={view.text('profile.sessions')}>
      {sessions.length === 0 ? (
        <p class="card-text">{view.text('profile.noSessions')}</p>
      ) : (
        <form method="post" action={pageAddress(view.frame.base, 'sessions/end')}>
          <ul class="sessions">
            {sessions.map((session) => (
              <SessionItem key={session.id} session={session} />
            ))}
          </ul>
          <p class="card-foot">
            <button type="submit" class="button danger" name="all" value="1">
              {view.text('profile.endAll')}
            </button>
          </p>
        </form>
      )}
    </Card>
  );
};

const dueDays = [1, 3, 5, 7, 14, 30];

const Mails = ({ mails, isSaved }: { mails: NonNullable<ProfilePage['mails']>; isSaved: boolean }) => {
  const view = useView();
  const { visitor, base } = view.frame;
  const about = { customer: visitor?.customer?.name ?? '', email: visitor?.email ?? '' };
  return (
    <Card title={view.text('mails.title')}>
      <form class="card-text stack" id="mails" method="post" action={pageAddress(base, 'profile/mails')}>
        <input type="hidden" name="customer" value={visitor?.customer?.id} />
        <p>{view.text('mails.says', about)}</p>
        <div class="checks">
          {mails.offered.map((kind) => (
            <label key={kind} class="check">
              <input type="checkbox" name="kind" value={kind} checked={mails.kinds.includes(kind)} />
              <span>{view.text(`mails.kind.${kind}`)}</span>
            </label>
          ))}
          {mails.offered.includes('due') && (
            <label class="check">
              <span>{view.text('mails.dueDays')}</span>
              <select name="dueDays">
                {dueDays.map((days) => (
                  <option key={days} value={days} selected={days === mails.dueDays}>
                    {view.number(days)}
                  </option>
                ))}
              </select>
            </label>
          )}
          <label class="check">
            <input type="checkbox" name="pdf" value="1" checked={mails.withPdf} />
            <span>{view.text('mails.pdf')}</span>
          </label>
        </div>
        <p class="actions">
          <button type="submit" class="button">
            {view.text('language.save')}
          </button>
          {isSaved && <span role="status">{view.text('mails.saved')}</span>}
        </p>
      </form>
    </Card>
  );
};

const LanguageChoice = () => {
  const view = useView();
  const { languages, base, here } = view.frame;
  if (languages.length < 2) return null;
  return (
    <Card title={view.text('language.label')}>
      <form class="card-text language" method="post" action={pageAddress(base, 'language')} data-sends-itself>
        <input type="hidden" name="returnTo" value={here} />
        <select name="language" aria-label={view.text('language.label')}>
          {languages.map((language) => (
            <option key={language} value={language} lang={language} selected={language === view.language}>
              {languageName(language)}
            </option>
          ))}
        </select>
        <button type="submit" class="button">
          {view.text('language.save')}
        </button>
      </form>
    </Card>
  );
};

export const Profile = ({ page }: { page: ProfilePage }) => {
  const { asOf, fields, sessions, mails, isSaved } = page;
  const view = useView();
  const { visitor, brand } = view.frame;
  return (
    <>
      <Title
        text={view.text('own.profile')}
        below={
          <>
            {visitor !== null && <span class="name">{visitor.email}</span>}
            {visitor !== null && asOf !== null && ' · '}
            {asOf !== null && <AsOf instant={asOf} />}
          </>
        }
      />
      {fields.length > 0 && (
        <Card title={view.text('profile.customer')}>
          <Fields fields={fields} />
          {brand.supportAddress !== null && (
            <p class="card-foot">{view.text('profile.changes', { address: brand.supportAddress })}</p>
          )}
        </Card>
      )}
      {mails !== null && <Mails mails={mails} isSaved={isSaved} />}
      <Sessions sessions={sessions} />
      <LanguageChoice />
    </>
  );
};
