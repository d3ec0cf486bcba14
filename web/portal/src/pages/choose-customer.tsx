// Which of the visitor's customers the portal shows.
import type { ChooseCustomerPage } from '../../../../src/portal/view-model.ts';
import { pageAddress } from '../addresses.ts';
import { Icon } from '../parts/icon.tsx';
import { useView } from '../view.ts';

export const ChooseCustomer = ({ page: { customers, returnTo } }: { page: ChooseCustomerPage }) => {
  const view = useView();
  return (
    <>
      <div class="card-text stack">
        <h1>{view.text('choose.title')}</h1>
        <p class="muted">{view.text('choose.says')}</p>
      </div>
      <form class="customers" method="post" action={pageAddress(view.frame.base, 'customer')}>
        <input type="hidden" name="returnTo" value={returnTo} />
        {customers.map(({ id, name }) => (
          <button type="submit" key={id} name="customer" value={id}>
            <span>{name}</span>
            <Icon name="right" />
          </button>
        ))}
      </form>
    </>
  );
};
