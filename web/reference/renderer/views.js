// The two kinds of view: the guide to the version, and one resource with its fields and operations.
import { freshId, make } from './dom.js';
import { fieldsBlock } from './fields.js';
import { operationSection } from './operation.js';
import { phrase, prose, splitSections } from './prose.js';
import { createRequest, sampleView } from './request-panel.js';

const isAboutChanges = ({ title }) => /^Changes from /i.test(title);

/**
 * The changes since the previous version, if the document lists them: `{title, text, breaking, others}`, the
 * last two as lines.
 */
function findChanges(description) {
  const section = splitSections(description).find(isAboutChanges);
  if (section === undefined) return undefined;
  const lines = section.text.split('\n').flatMap((line) => /^\s*[-*] (.*)/.exec(line)?.[1] ?? []);
  const isBreaking = (line) => /^\*\*Breaking/i.test(line);
  return {
    ...section,
    breaking: lines.filter(isBreaking),
    others: lines.filter((line) => !isBreaking(line)),
  };
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
    others.length > fewChanges
      ? make('details', {}, make('summary', {}, `${others.length} non-breaking`), rest)
      : rest,
  );
}

/** A request that works as soon as the key is filled in: the first records of the first list. */
function firstRequest({ resources }, toHref, access) {
  const list = resources
    .flatMap(({ operations }) => operations)
    .find(({ method, path }) => method === 'GET' && !path.includes('{'));
  if (list === undefined || access.isDraft) return null;
  const query = list.parameters.some(({ name }) => name === 'pageSize') ? '?pageSize=5' : '';
  const request = createRequest(
    list,
    access,
    { path: `${list.path}${query}`, headers: [] },
    'application/json',
  );
  const sample = sampleView('Your first request', () => request);
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
      make('a', { href: toHref(list.id) }, 'send it from this page'),
      '.',
    ),
    make('div', { class: 'panel-body' }, sample.parts),
  );
}

export function guideView(model, toHref, access) {
  const changes = findChanges(model.description);
  const [first, ...sections] = splitSections(model.description).filter((section) => !isAboutChanges(section));
  const isIntroduction = first !== undefined && first.title === '';
  const shown = isIntroduction ? sections : [first, ...sections].filter((section) => section !== undefined);
  return make(
    'article',
    { class: 'guide' },
    make('h2', { tabindex: -1 }, model.title),
    isIntroduction && prose(first.text, 3),
    firstRequest(model, toHref, access),
    changes !== undefined && changesSection(changes),
    make('h3', {}, model.kind === 'groups' ? 'Operations' : 'Resources'),
    model.resources.length === 0
      ? make('p', {}, 'This version has no resources yet.')
      : make(
          'ul',
          { class: 'cards' },
          model.resources.map((resource) =>
            make(
              'li',
              {},
              make('a', { href: toHref(resource.name) }, make('strong', {}, resource.title)),
              make('p', { class: 'hint' }, resource.description),
            ),
          ),
        ),
    shown.map(({ title, text }) =>
      make('section', { class: 'guide-part' }, make('h3', {}, title), prose(text, 4)),
    ),
  );
}

const manyFields = 60;

/**
 * Operations of a resource return the same records, whose fields come once at the end; those of a group have
 * their own, folded.
 */
export function resourceView(resource, kind, access) {
  const titleId = freshId('resource');
  const isGroup = kind === 'groups';
  const isOpen = ({ length }) => !isGroup && length <= manyFields;
  return make(
    'article',
    { class: 'resource', 'aria-labelledby': titleId },
    make('h2', { id: titleId, tabindex: -1 }, resource.title),
    access.createNotice?.(resource),
    resource.description !== '' && prose(resource.description, 3),
    resource.operations.map((operation) =>
      operationSection(operation, access, {
        description: operation.description === resource.description ? '' : operation.description,
        responseFields:
          !isGroup && operation.record === resource.record
            ? null
            : fieldsBlock('Response', operation.fields, { isOpen: isOpen(operation.fields) }),
      }),
    ),
    !isGroup &&
      fieldsBlock('A record', resource.fields, {
        isOpen: isOpen(resource.fields),
        operation: resource.operations[0],
      }),
  );
}
