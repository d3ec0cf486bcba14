// Parses bodies and queries in Stripe's format: application/x-www-form-urlencoded with brackets,
// `line_items[0][price_data][currency]=gbp`.

export type Form = { [name: string]: string | Form };

export function readForm(text: string): Form {
  const form: Form = {};
  for (const [key, value] of new URLSearchParams(text)) {
    const path = key.split('[').map((part) => part.replace(/\]$/, ''));
    const last = path.pop() ?? '';
    let at = form;
    for (const part of path) {
      const next = at[part];
      at = typeof next === 'object' ? next : (at[part] = {});
    }
    // `expand[]=a&expand[]=b`
    at[last === '' ? String(Object.keys(at).length) : last] = value;
  }
  return form;
}

export const textAt = (form: Form, ...path: string[]): string | undefined => {
  const found = at(form, path);
  return typeof found === 'string' ? found : undefined;
};
export const numberAt = (form: Form, ...path: string[]): number | undefined => {
  const text = textAt(form, ...path);
  return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : undefined;
};
export const partsAt = (form: Form, ...path: string[]): (string | Form)[] => {
  const found = at(form, path);
  return typeof found === 'object' ? Object.values(found) : [];
};
export const textsAt = (form: Form, ...path: string[]): string[] =>
  partsAt(form, ...path).filter((part) => typeof part === 'string');
export const metadataAt = (form: Form, ...path: string[]): Record<string, string> => {
  const found = at(form, path);
  if (typeof found !== 'object') return {};
  return Object.fromEntries(
    Object.entries(found).filter((pair): pair is [string, string] => typeof pair[1] === 'string'),
  );
};

function at(form: Form, path: readonly string[]): string | Form | undefined {
  let found: string | Form | undefined = form;
  for (const part of path) found = typeof found === 'object' ? found[part] : undefined;
  return found;
}
