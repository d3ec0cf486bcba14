// Elements and form values.

/** Creates an element. Attributes that begin with `on` are listeners; children are elements or texts. */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, '');
    else if (value !== false && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== null));
  return element;
}

export const byId = (id) => document.getElementById(id);
export const button = (text, onclick, attributes = {}) =>
  h('button', { type: 'button', onclick, ...attributes }, text);
export const label = (text, control) => h('label', {}, text, control);
export const option = (value, text = value) => h('option', { value }, text);
export const select = (name, options, attributes = {}) => h('select', { name, ...attributes }, options);
export const input = (name, attributes = {}) => h('input', { name, autocomplete: 'off', ...attributes });
export const check = (name, text, attributes = {}) =>
  h('label', { class: 'check' }, input(name, { type: 'checkbox', ...attributes }), text);

/** The form's values by name, without surrounding spaces. */
export const readValues = (form) =>
  Object.fromEntries(
    [...new FormData(form)].map(([name, value]) => [name, typeof value === 'string' ? value.trim() : value]),
  );

/** Whether `key` is another than at the last call for this element. */
export function hasChanged(element, key) {
  const text = JSON.stringify(key);
  const isSame = element.dataset.shown === text;
  element.dataset.shown = text;
  return !isSame;
}

/**
 * Replaces an element's content only when `key` has changed, so that what a person is looking at or has
 * focused stays.
 */
export function renderOnChange(element, key, render) {
  if (hasChanged(element, key)) element.replaceChildren(...[render()].flat());
}
