// What one takes away from a page: a PDF, a print; and that no PDF could be made.
import { useView } from '../view.ts';
import { Icon } from './icon.tsx';

export const PaperButtons = ({ pdf }: { pdf: string }) => {
  const view = useView();
  return (
    <>
      <a class="button" href={pdf} title={view.text('record.pdfTitle')}>
        <Icon name="download" />
        {view.text('record.pdf')}
      </a>
      <button type="button" class="button" data-prints hidden>
        <Icon name="print" />
        {view.text('record.print')}
      </button>
    </>
  );
};

export const NoPdf = () => (
  <p class="problem" role="status">
    {useView().text('record.noPdf')}
  </p>
);
