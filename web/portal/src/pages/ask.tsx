// Asking the company's agent: what was asked and answered so far, and the form. While an answer comes, portal.js
// replaces the part that changes; without scripts the page loads itself again.
import type { AskPage, AskProblem, AskTurn } from '../../../../src/portal/ask-model.ts';
import { Empty } from '../parts/card.tsx';
import { Icon } from '../parts/icon.tsx';
import { Title } from '../parts/title.tsx';
import { useView } from '../view.ts';

const Sources = ({ sources }: Pick<AskTurn, 'sources'>) => {
  const view = useView();
  return (
    <p class="sources fine">
      {view.text('ask.sources')}{' '}
      {sources.map(({ label, href }) => (
        <a key={href} class="chip" href={href}>
          {label}
        </a>
      ))}
    </p>
  );
};

const Again = ({ address, question }: { address: string; question: string }) => {
  const view = useView();
  return (
    <form method="post" action={address}>
      <input type="hidden" name="question" value={question} />
      <button type="submit" class="button">
        {view.text('ask.again')}
      </button>
    </form>
  );
};

/** `again`: where the question can be asked again. */
const Turn = ({ turn, again }: { turn: AskTurn; again: string | null }) => {
  const view = useView();
  const { question, askedAt, html, sources, isRunning, failure } = turn;
  return (
    <article class="card turn" aria-busy={isRunning || undefined}>
      <header>
        <h2>{question}</h2>
        <time class="fine" dateTime={askedAt}>
          {view.instant(askedAt)}
        </time>
      </header>
      <div class="card-text">
        {html !== '' && <div class="prose" dangerouslySetInnerHTML={{ __html: html }} />}
        {isRunning && <p class="muted">{view.text('ask.answering')}</p>}
        {failure !== null && <p class="problem">{view.text(`ask.failure.${failure}`)}</p>}
        {failure !== null && again !== null && <Again address={again} question={question} />}
        {sources.length > 0 && <Sources sources={sources} />}
      </div>
    </article>
  );
};

const Problem = ({ problem, maxLength }: { problem: AskProblem; maxLength: number }) => {
  const view = useView();
  const at = problem.at === null ? '' : view.instant(problem.at, { zone: true });
  return (
    <p class="problem" role="alert">
      {view.text(`ask.problem.${problem.code}`, { at, max: view.number(maxLength, 0) })}
    </p>
  );
};

const QuestionForm = ({ page: { address, typed, maxLength, left } }: { page: AskPage }) => {
  const view = useView();
  return (
    <form class="card ask" method="post" action={address}>
      <label for="question">{view.text('ask.question')}</label>
      <textarea id="question" name="question" rows={3} maxLength={maxLength} required>
        {typed}
      </textarea>
      <div class="actions">
        <span class="fine">{view.text('ask.left', { left })}</span>
        <button type="submit" class="button primary">
          {view.text('ask.send')}
          <Icon name="right" />
        </button>
      </div>
    </form>
  );
};

export const Ask = ({ page }: { page: AskPage }) => {
  const view = useView();
  const { turns, events, problem, canAsk, left, address, maxLength } = page;
  const earlier = turns.slice(0, -1);
  const newest = turns.at(-1);
  const mayAsk = canAsk && events === null && left > 0;
  return (
    <>
      <Title
        text={view.text('own.ask')}
        below={`${view.text('ask.says', { company: view.frame.brand.name })} ${view.text('ask.kept')}`}
      />
      {earlier.map((turn) => (
        <Turn key={turn.askedAt} turn={turn} again={null} />
      ))}
      <div class="stack" aria-live="polite" data-replaces data-events={events ?? undefined}>
        {newest !== undefined && <Turn turn={newest} again={mayAsk ? address : null} />}
        {turns.length === 0 && (
          <div class="card">
            <Empty text={view.text(canAsk ? 'ask.none' : 'ask.viewAs')} />
          </div>
        )}
        {problem !== null && <Problem problem={problem} maxLength={maxLength} />}
        {mayAsk && <QuestionForm page={page} />}
      </div>
    </>
  );
};
