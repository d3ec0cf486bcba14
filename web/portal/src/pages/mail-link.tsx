// What the link of a mail does: it ends mails of its kind once the button is pressed.
import type { MailLinkPage } from '../../../../src/portal/view-model.ts';
import { useView } from '../view.ts';

export const MailLink = ({ page: { mail, email, action } }: { page: MailLinkPage }) => {
  const view = useView();
  const kind = view.text(`mails.kind.${mail}`);
  if (email === null)
    return (
      <div class="card-text stack">
        <h1>{view.text('mails.ended.title')}</h1>
        <p>{kind}</p>
        <p>{view.text('mails.ended.says')}</p>
      </div>
    );
  return (
    <form class="card-text stack" method="post" action={action}>
      <h1>{view.text('mails.end.title')}</h1>
      <p>{view.text('mails.end.says', { email, kind })}</p>
      <button type="submit" class="button primary">
        {view.text('mails.end.button')}
      </button>
    </form>
  );
};
