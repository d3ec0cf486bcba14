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

/** What is chosen to be paid, added up as it is typed: in whole units of the smallest coin, so that nothing is rounded. */
const payForm = (() => {
  /** Undefined for a text that isn't written as the language writes amounts: then no sum is shown. */
  const toUnits = (typed, digits, decimal) => {
    const text = typed
      .replace(/[\s'’]/g, '')
      .replaceAll(/[.,](?=\d{3}(?!\d))/g, (mark) => (mark === decimal ? mark : ''));
    const [whole, fraction = '', more] = text.split(decimal);
    const units = whole + fraction.padEnd(digits, '0');
    return more === undefined && whole !== '' && fraction.length <= digits && /^\d{1,18}$/.test(units)
      ? BigInt(units)
      : undefined;
  };
  const format = (units, digits, language, currency) => {
    const total = String(units).padStart(digits + 1, '0');
    const amount = digits === 0 ? total : `${total.slice(0, -digits)}.${total.slice(-digits)}`;
    const style = {
      style: 'currency',
      currency,
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
    };
    return new Intl.NumberFormat(language, style).format(amount);
  };
  const showSum = (form) => {
    const output = form.querySelector('[data-sum]');
    if (output === null) return;
    const { sum, currency } = output.dataset;
    const digits = Number(sum);
    const decimal = form.dataset.pays === 'en' ? '.' : ',';
    const typed = [...form.querySelectorAll('[name=invoice]:checked')].map(
      ({ value }) => form.elements[`amount.${value}`]?.value ?? '',
    );
    const units = typed.map((text) => toUnits(text, digits, decimal));
    output.hidden = units.length === 0 || units.includes(undefined);
    if (output.hidden) return;
    const total = units.reduce((all, one) => all + one, 0n);
    output.textContent = format(total, digits, form.dataset.pays, currency);
  };
  return { showSum };
})();

(() => {
  const { showSum } = payForm;
  /** Who types an amount means to pay it. */
  const choose = ({ target }) => {
    const form = target.form;
    if (form?.dataset.pays === undefined) return;
    const id = target.name?.startsWith('amount.') ? target.name.slice('amount.'.length) : undefined;
    const box = [...form.querySelectorAll('[name=invoice]')].find(({ value }) => value === id);
    if (box !== undefined) box.checked = true;
    showSum(form);
  };
  addEventListener('input', choose);
  addEventListener('click', ({ target }) => {
    const button = target.closest?.('[data-chooses-all]');
    if (button === null || button === undefined) return;
    for (const box of button.form.querySelectorAll('[name=invoice]:enabled')) box.checked = true;
    showSum(button.form);
  });

  addEventListener('DOMContentLoaded', () => {
    for (const form of document.querySelectorAll('[data-pays]')) {
      for (const button of form.querySelectorAll('[data-chooses-all]')) button.hidden = false;
      showSum(form);
    }
  });
})();

(() => {
  /** Of the page as it is now, the part that changes takes the place of the one that is shown. */
  const replacePart = async (followed) => {
    const answer = await fetch(location.pathname, { headers: { Accept: 'text/html' } });
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const part = page.querySelector('[data-replaces]');
    if (!answer.ok || part === null) return location.reload();
    followed.replaceChildren(...part.childNodes);
    if (part.dataset.events === undefined) {
      delete followed.dataset.events;
      return;
    }
    followed.dataset.events = part.dataset.events;
    follow(followed);
  };

  /** What the page follows is loaded again when it has changed; now and then where events don't arrive. */
  const follow = (followed) => {
    const events = new EventSource(followed.dataset.events);
    events.addEventListener('changed', () => {
      events.close();
      if (followed.dataset.replaces === undefined) location.reload();
      else replacePart(followed).catch(() => setTimeout(() => location.reload(), 5_000));
    });
    events.addEventListener('error', () => {
      if (events.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 15_000);
    });
  };

  addEventListener('DOMContentLoaded', () => {
    const followed = document.querySelector('[data-events]');
    if (followed !== null) follow(followed);
  });
})();
