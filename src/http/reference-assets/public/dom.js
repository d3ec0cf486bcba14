/** An element with attributes, listeners (`onclick`) and children. Absent children are left out; strings stay text, never markup. */
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

export const button = (label, onclick, attributes = {}) => make('button', { type: 'button', onclick, ...attributes }, label);

let made = 0;
/** An id that no other element of the page has. */
export const freshId = (prefix) => {
  made += 1;
  return `${prefix}-${made}`;
};

/** Copies what `read` answers; where the browser doesn't let it, the text in `source` is selected for the reader to copy. */
export function copyButton(label, read, source) {
  const copy = button('Copy', async () => {
    try {
      await navigator.clipboard.writeText(read());
      copy.textContent = 'Copied';
    } catch {
      getSelection().selectAllChildren(source());
      copy.textContent = 'Selected';
    }
    setTimeout(() => {
      copy.textContent = 'Copy';
    }, 2_000);
  });
  copy.className = 'small';
  copy.setAttribute('aria-label', label);
  return copy;
}
