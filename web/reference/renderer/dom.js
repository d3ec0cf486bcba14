/**
 * Creates an element with attributes, listeners (`onclick`) and children. Absent children are left out;
 * strings become text, never markup.
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  const isThere = (child) => child !== undefined && child !== null && child !== false && child !== '';
  element.append(...children.flat(3).filter(isThere));
  return element;
}

export const button = (label, onclick, attributes = {}) =>
  make('button', { type: 'button', onclick, ...attributes }, label);

let made = 0;
/** An id that is unique on the page. */
export const freshId = (prefix) => {
  made += 1;
  return `${prefix}-${made}`;
};

/**
 * A button that copies the text returned by `read`. If the browser forbids that, it selects the text in
 * `source` for the reader to copy.
 */
export function copyButton(label, read, source) {
  const say = (text, name = text) => {
    copy.textContent = text;
    copy.setAttribute('aria-label', name);
  };
  const click = async () => {
    try {
      await navigator.clipboard.writeText(read());
      say('Copied');
    } catch {
      getSelection().selectAllChildren(source());
      say('Selected');
    }
    setTimeout(() => say('Copy', label), 2_000);
  };
  const copy = button('Copy', click, { class: 'small', 'aria-label': label });
  return copy;
}
