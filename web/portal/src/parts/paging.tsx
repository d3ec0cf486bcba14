// The pages of a long list.
import type { Pages } from '../../../../src/portal/view-model.ts';
import { useView } from '../view.ts';
import { Icon } from './icon.tsx';

export const Paging = ({ pages: { page, totalPages, previous, next } }: { pages: Pages }) => {
  const view = useView();
  return (
    <nav class="paging" aria-label={view.text('list.pages')}>
      {previous !== null && (
        <a class="button" href={previous} rel="prev">
          <Icon name="left" />
          {view.text('list.previous')}
        </a>
      )}
      <span>{view.text('list.page', { page, totalPages })}</span>
      {next !== null && (
        <a class="button" href={next} rel="next">
          {view.text('list.next')}
          <Icon name="right" />
        </a>
      )}
    </nav>
  );
};
