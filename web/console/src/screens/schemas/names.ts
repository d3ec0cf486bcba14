// What a new field is called. Whether a name is allowed is for the service to say.
const reserved = /^(id|page|pagesize|sort|order|fields|since|limit|draft)$/i;

/** `dueDate` for "Due date" and, if that is taken, `dueDate2`. */
export function nameFor(label: string, source: string, taken: readonly { readonly name: string }[]): string {
  const camel = label
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/\p{M}|['’]/gu, '')
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')
    .slice(0, 6)
    .map((word, index) => (index === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1)))
    .join('');
  const wanted =
    [camel, source.replaceAll(/\W/g, ''), `field${camel}`].find((name) => /^[a-z]/.test(name)) ?? 'field';
  const free = `${wanted.slice(0, 56)}${reserved.test(wanted) ? 'Value' : ''}`;
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? free : `${free}${number}`;
    if (!taken.some((one) => one.name.toLowerCase() === name.toLowerCase())) return name;
  }
}
