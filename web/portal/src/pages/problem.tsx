// Pages that say what went wrong, and what to do.
import type { ProblemPage } from '../../../../src/portal/view-model.ts';
import { pageAddress } from '../addresses.ts';
import { useView, type View } from '../view.ts';

export const problemTitle = ({ code }: ProblemPage, view: View): string => view.text(`problem.${code}.title`);

export const ProblemView = ({ page }: { page: ProblemPage }) => {
  const view = useView();
  const { brand, base } = view.frame;
  const { code, completeAt, requestId } = page;
  return (
    <div class="card-text stack">
      <h1>{problemTitle(page, view)}</h1>
      <p>{view.text(`problem.${code}.says`, { company: brand.name })}</p>
      {completeAt !== null && (
        <p>{view.text('problem.completeAt', { time: view.instant(completeAt, { zone: true }) })}</p>
      )}
      {code !== 'no_customer' && code !== 'view_ended' && (
        <p>
          <a class="button primary" href={pageAddress(base, '')}>
            {view.text('problem.home')}
          </a>
        </p>
      )}
      <p class="fine">
        {view.text('problem.requestId')}: <code>{requestId}</code>
      </p>
    </div>
  );
};
