// The form's request as sample code. The key is always a placeholder, since samples get pasted and photographed.

const placeholder = 'YOUR_API_KEY';
export const isJson = (type) => /^application\/([\w.-]+\+)?json\b/i.test(type ?? '');

const headersOf = ({ tenant, accept, headers }) => [
  ['Authorization', `Bearer ${placeholder}`],
  ['x-tenant-id', tenant || 'YOUR_TENANT_ID'],
  ...(isJson(accept) ? [] : [['Accept', accept]]),
  ...headers,
];

const shellQuoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const literal = (value) => JSON.stringify(value);

const fileName = ({ path, accept }) => `${path.split('/').filter(Boolean).at(-1)}.${accept.includes('csv') ? 'csv' : 'ndjson'}`;

function curl(request) {
  return [
    `curl ${shellQuoted(request.url)}`,
    ...headersOf(request).map(([name, value]) => `-H ${shellQuoted(`${name}: ${value}`)}`),
    ...(isJson(request.accept) ? [] : ['--compressed', `--output ${shellQuoted(fileName(request))}`]),
  ].join(' \\\n  ');
}

function javascript(request) {
  const reading = isJson(request.accept)
    ? ['const { data } = await response.json();']
    : [
        'const chunks = response.body.pipeThrough(new TextDecoderStream());',
        'for await (const text of chunks) process.stdout.write(text);',
      ];
  return [
    `const response = await fetch(${literal(request.url)}, {`,
    '  headers: {',
    ...headersOf(request).map(([name, value]) => `    ${literal(name)}: ${literal(value)},`),
    '  },',
    '});',
    'if (!response.ok) throw new Error((await response.json()).error.message);',
    ...reading,
  ].join('\n');
}

function python(request) {
  const [address, query = ''] = request.url.split('?');
  const isStreamed = !isJson(request.accept);
  const parameters = [...new URLSearchParams(query)].map(([name, value]) => `        (${literal(name)}, ${literal(value)}),`);
  const reading = isStreamed
    ? ['for line in response.iter_lines(decode_unicode=True):', '    print(line)']
    : ['data = response.json(parse_float=Decimal)["data"]'];
  return [
    ...(isStreamed ? [] : ['from decimal import Decimal']),
    'import requests',
    '',
    'response = requests.get(',
    `    ${literal(address)},`,
    '    headers={',
    ...headersOf(request).map(([name, value]) => `        ${literal(name)}: ${literal(value)},`),
    '    },',
    ...(parameters.length === 0 ? [] : ['    params=[', ...parameters, '    ],']),
    ...(isStreamed ? ['    stream=True,'] : []),
    '    timeout=30,',
    ')',
    'response.raise_for_status()',
    ...reading,
  ].join('\n');
}

/** By the name that the page shows. Each takes `{url, path, accept, tenant, headers: [name, value][]}` and returns the code as text. */
export const samples = { curl, JavaScript: javascript, Python: python };
