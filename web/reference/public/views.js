// The two kinds of view: the guide to the version, and one resource with its fields and operations.
import { freshId, make } from './dom.js';
import { operationSection } from './operation.js';
import { phrase, prose, sectionsOf } from './prose.js';
import { sampleView } from './request-panel.js';
import { staleFieldsNotice } from './stale-fields.js';

const isAboutChanges = ({ title }) => /^Changes from /i.test(title);

/** The changes since the previous version, if the document lists them: `{title, text, breaking, others}`, the last two as lines. */
function changesOf(description) {
  const section = sectionsOf(description).find(isAboutChanges);
  if (section === undefined) return undefined;
  const lines = section.text.split('\n').flatMap((line) => /^\s*[-*] (.*)/.exec(line)?.[1] ?? []);
  const isBreaking = (line) => /^\*\*Breaking/i.test(line);
  return { ...section, breaking: lines.filter(isBreaking), others: lines.filter((line) => !isBreaking(line)) };
}

const fewChanges = 8;
const changeList = (lines) =>
  lines.length > 0 &&
  make(
    'ul',
    {},
    lines.map((line) => make('li', {}, phrase(line))),
  );

/** Breaking changes come first; a long list of other changes is folded. */
function changesSection({ title, text, breaking, others }) {
  const count = breaking.length + others.length;
  const counted = breaking.length > 0 ? `${count}, ${breaking.length} of them breaking` : String(count);
  const rest = changeList(others);
  return make(
    'section',
    { class: breaking.length > 0 ? 'changes breaking' : 'changes' },
    make('h3', {}, title, count > 0 && make('span', { class: 'tag' }, counted)),
    count === 0 && prose(text, 4),
    changeList(breaking),
    others.length > fewChanges ? make('details', {}, make('summary', {}, `${others.length} non-breaking`), rest) : rest,
  );
}

/** A request that works as soon as the key is filled in: the first records of the first list. */
function firstRequest({ resources }, hrefOf, access) {
  const list = resources.flatMap(({ operations }) => operations).find(({ path }) => !path.includes('{'));
  if (list === undefined || access.isDraft) return null;
  const query = list.parameters.some(({ name }) => name === 'pageSize') ? '?pageSize=5' : '';
  const url = `${location.origin}${access.serverPath}${list.path}${query}`;
  const sample = sampleView('Your first request', () => ({
    url,
    path: list.path,
    accept: 'application/json',
    tenant: access.tenant,
    headers: [],
  }));
  sample.update();
  return make(
    'section',
    { class: 'first-request' },
    make('h3', {}, 'Your first request'),
    make(
      'p',
      {},
      'Replace ',
      make('code', {}, 'YOUR_API_KEY'),
      ', or ',
      make('a', { href: hrefOf(list.id) }, 'send it from this page'),
      '.',
    ),
    make('div', { class: 'panel-body' }, sample.parts),
  );
}

export function guideView(model, hrefOf, access) {
  const changes = changesOf(model.description);
  const [first, ...sections] = sectionsOf(model.description).filter((section) => !isAboutChanges(section));
  const isIntroduction = first !== undefined && first.title === '';
  const shown = isIntroduction ? sections : [first, ...sections].filter((section) => section !== undefined);
  return make(
    'article',
    { class: 'guide' },
    make('h2', { tabindex: -1 }, model.title),
    isIntroduction && prose(first.text, 3),
    firstRequest(model, hrefOf, access),
    changes !== undefined && changesSection(changes),
    make('h3', {}, 'Resources'),
    model.resources.length === 0
      ? make('p', {}, 'This version has no resources yet.')
      : make(
          'ul',
          { class: 'cards' },
          model.resources.map((resource) =>
            make(
              'li',
              {},
              make('a', { href: hrefOf(resource.name) }, make('strong', {}, resource.title)),
              make('p', { class: 'hint' }, resource.description),
            ),
          ),
        ),
    shown.map(({ title, text }) => make('section', { class: 'guide-part' }, make('h3', {}, title), prose(text, 4))),
  );
}

/** How the list operation can use a field: sorting and filters. */
function usesOf(name, operation) {
  const parameters = operation?.parameters ?? [];
  const sortable = parameters.find((parameter) => parameter.name === 'sort')?.options.includes(name) === true;
  const filters = parameters.filter(({ field }) => field?.name === name).length;
  return [sortable && 'sort', filters > 0 && (filters === 1 ? '1 filter' : `${filters} filters`)].filter((text) => text);
}

function fieldList(fields, operation) {
  return make(
    'dl',
    { class: 'fields' },
    fields.map(({ name, depth, type, isNullable, description, options }) =>
      make(
        'div',
        { class: depth > 0 ? 'inner' : null },
        make('dt', {}, make('code', { class: 'name' }, name)),
        make(
          'dd',
          {},
          make('span', { class: 'type' }, type, isNullable && ' or null'),
          usesOf(name, operation).map((text) => make('span', { class: 'tag' }, text)),
          description !== '' && make('span', { class: 'words' }, phrase(description)),
          options.length > 0 &&
            make(
              'span',
              { class: 'words' },
              options.map((option) => make('code', {}, String(option))),
            ),
        ),
      ),
    ),
  );
}

const manyFields = 60;
/** Fields in a collapsible block, which starts open unless there are very many. */
function fieldsBlock(title, fields, operation) {
  return (
    fields.length > 0 &&
    make(
      'details',
      { class: 'fields-block', open: fields.length <= manyFields },
      make('summary', {}, `${title}: ${fields.length} fields`),
      fieldList(fields, operation),
    )
  );
}

export function resourceView(resource, access) {
  const titleId = freshId('resource');
  const main = resource.operations[0];
  return make(
    'article',
    { class: 'resource', 'aria-labelledby': titleId },
    make('h2', { id: titleId, tabindex: -1 }, resource.title),
    staleFieldsNotice(resource, access),
    resource.description !== '' && prose(resource.description, 3),
    resource.operations.map((operation) =>
      operationSection(operation, access, {
        description: operation.description === resource.description ? '' : operation.description,
        responseFields: operation.record === resource.record ? null : fieldsBlock('Response', operation.fields, undefined),
      }),
    ),
    fieldsBlock('A record', resource.fields, main),
  );
}
