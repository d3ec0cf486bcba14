// The form for credentials, the line that shows which are in use, and the area for problems. Credentials stay
// in the inputs and in the page's memory; they are never written to a URL, a cookie or storage.
import { DisplayError } from './description.js';

export const part = (id) => document.getElementById(id);

/** The value of a credential input. Throws a DisplayError when it is empty or can't be sent in a header. */
export function readCredential(field, name) {
  const value = part(field)
    .value.trim()
    .replace(/^Bearer\s+/i, '');
  if (value === '') throw new DisplayError(`Enter the ${name}`, '', field);
  if (!/^[\x21-\x7e]+$/.test(value))
    throw new DisplayError(
      `The ${name} is not valid`,
      'It contains spaces or characters that neither keys nor ids have.',
      field,
    );
  return value;
}

/** Shows a problem in the form's own area, or in another element. */
export function showProblem(problem, target = part('problem')) {
  hideProblem();
  const { title, text, field } =
    problem instanceof DisplayError
      ? problem
      : new DisplayError('The reference cannot be shown', problem.message);
  const strong = document.createElement('strong');
  strong.textContent = title;
  target.replaceChildren(strong, ...(text === '' ? [] : [document.createTextNode(` ${text}`)]));
  target.hidden = false;
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

/**
 * Enables the form: submitting runs `open` and shows its problems. Returns a function that runs other work in
 * the same way.
 */
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

/** Replaces the form with a line that says whose credentials are in use, and clears the key input. */
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
