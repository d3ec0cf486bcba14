// The form that asks for credentials, the line that says which are in use, and the place for problems. What is typed lives in
// the inputs and then in the page's memory; it is never written to an address, a cookie or storage.
import { Problem } from './description.js';

export const part = (id) => document.getElementById(id);

/** The value of a credential input, checked for what a header can carry. Throws a Problem. */
export function readCredential(field, name) {
  const value = part(field)
    .value.trim()
    .replace(/^Bearer\s+/i, '');
  if (value === '') throw new Problem(`Enter the ${name}`, '', field);
  if (!/^[\x21-\x7e]+$/.test(value))
    throw new Problem(`The ${name} cannot be right`, 'It holds spaces or characters that neither keys nor ids have.', field);
  return value;
}

/** Shows a problem in the form's place for them, or in another one. */
export function showProblem(problem, place = part('problem')) {
  hideProblem();
  const { title, text, field } = problem instanceof Problem ? problem : new Problem('The reference cannot be shown', problem.message);
  const strong = document.createElement('strong');
  strong.textContent = title;
  place.replaceChildren(strong, ...(text === '' ? [] : [document.createTextNode(` ${text}`)]));
  place.hidden = false;
  if (field === null) return;
  part(field).setAttribute('aria-invalid', 'true');
  part(field).focus();
}

export function hideProblem() {
  part('problem').hidden = true;
  for (const input of document.querySelectorAll('[aria-invalid]')) input.removeAttribute('aria-invalid');
}

const setBusy = (isBusy, label) => {
  part('open').disabled = isBusy;
  part('open').textContent = label;
};

/** Lets the form be sent: `open` does the work, and its problems are shown. Answers a way to do other work in the same manner. */
export function enableForm(label, busyLabel, open) {
  const run = async (work) => {
    hideProblem();
    setBusy(true, busyLabel);
    try {
      await work();
    } catch (problem) {
      showProblem(problem);
    } finally {
      setBusy(false, label);
    }
  };
  setBusy(false, label);
  part('access').addEventListener('submit', (event) => {
    event.preventDefault();
    if (!part('open').disabled) run(open);
  });
  return run;
}

/** Swaps the form for a line that says whose credentials are in use. The key leaves the input. */
export function showConnection(text) {
  part('key').value = '';
  part('connection-text').textContent = text;
  part('connection').hidden = false;
  part('access').hidden = true;
}

export function showForm() {
  part('connection').hidden = true;
  part('access').hidden = false;
  part('key').focus();
}

export function showVersion(label) {
  part('version').textContent = label;
  part('version').hidden = false;
}
