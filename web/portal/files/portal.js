// What is more comfortable with a script than without on the portal's pages: forms that send themselves, menus
// that close, and the button that prints. Everything else works without it.
(() => {
  const sendsItself = (target) => target?.form?.matches('[data-sends-itself]') === true;

  /** Dates as they were when they got the focus: while one is typed, it is a date of the year 2 for a moment. */
  let dates = '';
  const readDates = (form) =>
    [...form.querySelectorAll('input[type=date]')].map(({ value }) => value).join(' ');

  addEventListener('change', ({ target }) => {
    if (sendsItself(target) && (target.matches('select') || target.type === 'radio'))
      target.form.requestSubmit();
  });
  addEventListener('focusin', ({ target, relatedTarget }) => {
    if (sendsItself(target) && target.type === 'date' && relatedTarget?.type !== 'date')
      dates = readDates(target.form);
  });
  addEventListener('focusout', ({ target, relatedTarget }) => {
    if (!sendsItself(target) || target.type !== 'date') return;
    if (relatedTarget?.closest('form') !== target.form && readDates(target.form) !== dates)
      target.form.requestSubmit();
  });

  // Parameters without a value say nothing: the address of a list is short and the same for all who filter alike.
  addEventListener('submit', ({ target }) => {
    if (target.method !== 'get') return;
    const empty = [...target.elements].filter(({ name, value }) => name !== '' && value === '');
    for (const element of empty) element.disabled = true;
    setTimeout(() => {
      for (const element of empty) element.disabled = false;
    });
  });
})();

(() => {
  const closeMenus = (inside) => {
    for (const menu of document.querySelectorAll('details.drop[open]'))
      if (!menu.contains(inside)) menu.open = false;
  };
  addEventListener('click', ({ target }) => {
    closeMenus(target);
    if (target.closest?.('[data-prints]')) print();
  });
  addEventListener('keydown', ({ key }) => {
    const open = document.querySelector('details.drop[open]');
    if (key !== 'Escape' || open === null) return;
    open.open = false;
    open.querySelector('summary').focus();
  });

  addEventListener('DOMContentLoaded', () => {
    for (const button of document.querySelectorAll('[data-prints]')) button.hidden = false;
  });
})();
