// The form's request as sample code. The key is always a placeholder, since samples get pasted and
// photographed.

const placeholder = 'YOUR_API_KEY';
export const isJson = (type) => /^application\/([\w.-]+\+)?json\b/i.test(type ?? '');
/** Whether it can't be read as text. */
export const isBinary = (type) => /pdf|spreadsheetml/.test(type);
/** The ending of a file with this content. */
export function chooseExtension(type) {
  if (isJson(type)) return 'json';
  if (/spreadsheetml/.test(type)) return 'xlsx';
  return ['csv', 'ndjson', 'pdf'].find((ending) => type.includes(ending)) ?? 'txt';
}

const buildHeaders = ({ tenant, accept, body, headers }) => [
  ['Authorization', `Bearer ${placeholder}`],
  ...(tenant === undefined ? [] : [['x-tenant-id', tenant || 'YOUR_TENANT_ID']]),
  ...(body === undefined ? [] : [['Content-Type', 'application/json']]),
  ...(isJson(accept) ? [] : [['Accept', accept]]),
  ...headers,
];

const shellQuoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const literal = (value) => JSON.stringify(value);
const indented = (text, by) => text.replaceAll('\n', `\n${by}`);

const fileName = ({ path, accept }) =>
  `${path.split('/').findLast((part) => /^[^{]/.test(part))}.${chooseExtension(accept)}`;

function curl(request) {
  return [
    `curl ${request.method === 'GET' ? '' : `-X ${request.method} `}${shellQuoted(request.url)}`,
    ...buildHeaders(request).map(([name, value]) => `-H ${shellQuoted(`${name}: ${value}`)}`),
    ...(request.body === undefined ? [] : [`--data ${shellQuoted(request.body)}`]),
    ...(isJson(request.accept) ? [] : ['--compressed', `--output ${shellQuoted(fileName(request))}`]),
  ].join(' \\\n  ');
}

function readInJavascript(request) {
  const { accept, reads } = request;
  if (reads === 'nothing') return [];
  if (isJson(accept)) return [`const ${reads === 'data' ? '{ data }' : 'result'} = await response.json();`];
  if (isBinary(accept))
    return [
      "const { writeFile } = await import('node:fs/promises');",
      `await writeFile(${literal(fileName(request))}, new Uint8Array(await response.arrayBuffer()));`,
    ];
  return [
    'const chunks = response.body.pipeThrough(new TextDecoderStream());',
    'for await (const text of chunks) process.stdout.write(text);',
  ];
}

function javascript(request) {
  return [
    `const response = await fetch(${literal(request.url)}, {`,
    ...(request.method === 'GET' ? [] : [`  method: ${literal(request.method)},`]),
    '  headers: {',
    ...buildHeaders(request).map(([name, value]) => `    ${literal(name)}: ${literal(value)},`),
    '  },',
    ...(request.body === undefined ? [] : [`  body: JSON.stringify(${indented(request.body, '  ')}),`]),
    '});',
    'if (!response.ok) throw new Error((await response.json()).error.message);',
    ...readInJavascript(request),
  ].join('\n');
}

/** As it is where Python can read that; otherwise escaped. */
const pythonText = (text) => (text.includes("'''") || /['\\]$/.test(text) ? literal(text) : `r'''${text}'''`);

function python(request) {
  const [address, query = ''] = request.url.split('?');
  const isSaved = isBinary(request.accept);
  const isStreamed = !isJson(request.accept) && !isSaved;
  const isRead = !isStreamed && !isSaved && request.reads !== 'nothing';
  const parameters = [...new URLSearchParams(query)].map(
    ([name, value]) => `        (${literal(name)}, ${literal(value)}),`,
  );
  const saving = [
    `with open(${literal(fileName(request))}, 'wb') as file:`,
    '    file.write(response.content)',
  ];
  const reading = isStreamed
    ? ['for line in response.iter_lines(decode_unicode=True):', '    print(line)']
    : request.reads === 'data'
      ? ['data = response.json(parse_float=Decimal)["data"]']
      : ['result = response.json(parse_float=Decimal)'];
  return [
    ...(isRead ? ['from decimal import Decimal'] : []),
    'import requests',
    '',
    `response = requests.${request.method.toLowerCase()}(`,
    `    ${literal(address)},`,
    '    headers={',
    ...buildHeaders(request).map(([name, value]) => `        ${literal(name)}: ${literal(value)},`),
    '    },',
    ...(parameters.length === 0 ? [] : ['    params=[', ...parameters, '    ],']),
    ...(request.body === undefined ? [] : [`    data=${pythonText(request.body)}.encode(),`]),
    ...(isStreamed ? ['    stream=True,'] : []),
    '    timeout=30,',
    ')',
    'response.raise_for_status()',
    ...(isSaved ? saving : isRead || isStreamed ? reading : []),
  ].join('\n');
}

/**
 * By the name that the page shows. Each takes `{method, url, path, accept, tenant?, headers: [name, value][],
 * body?, reads}` and returns the code as text.
 */
export const samples = { curl, JavaScript: javascript, Python: python };
