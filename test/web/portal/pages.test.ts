// The portal's pages: no text from data becomes markup, and what every page has.
import { describe, expect, it } from 'vitest';
import type { Renderer } from '../../../src/portal/renderer-model.ts';
import type { Page } from '../../../src/portal/view-model.ts';
import { type Markup, readMarkup } from './markup.ts';
import { languages, listPages, makeFrame } from './page-samples.ts';

const { href } = new URL('../../../web/portal/dist/render.js', import.meta.url);
const { renderer } = (await import(href)) as { renderer: Renderer };

const hostile = `"><script>alert('1')</script><img src=x onerror=alert(1) style="x">' & &lt; {x} ${'W'.repeat(300)}`;
/** As long: what fits at the top of a page depends on it. */
const plain = 'A'.repeat(hostile.length);

/** What a browser would make of it, but for its texts. */
const outline = ({ elements }: Markup): string[] =>
  elements.map(({ name, attributes }) => `${name} ${[...attributes.keys()].join(' ')}`);
const count = ({ elements }: Markup, wanted: string): number =>
  elements.filter(({ name }) => name === wanted).length;
const toName = (page: Page): string =>
  page.kind === 'problem'
    ? `problem ${page.code}`
    : page.kind === 'code'
      ? `code ${page.problem?.code}`
      : page.kind;

const hostilePages = listPages(hostile);
const cases = listPages(plain).map((page, at) => [toName(page), page, hostilePages[at] ?? page] as const);

describe.each(cases)('the page %s', (_name, page, hostilePage) => {
  it('shows texts from data as texts', () => {
    const expected = readMarkup(renderer.renderPage(page, makeFrame('en', plain)));
    const found = readMarkup(renderer.renderPage(hostilePage, makeFrame('en', hostile)));
    expect(outline(found)).toEqual(outline(expected));
    expect(found.texts.some((text) => text.includes(hostile))).toBe(true);
  });

  it.each(languages)('is whole in %s', (language) => {
    for (const change of [{}, { visitor: null, navigation: [] }]) {
      const markup = readMarkup(renderer.renderPage(page, makeFrame(language, plain, change)));
      const { elements } = markup;
      expect([count(markup, 'h1'), count(markup, 'main'), count(markup, 'title')]).toEqual([1, 1, 1]);
      expect(elements[0]).toEqual({ name: 'html', attributes: new Map([['lang', language]]) });
      const scripts = elements.filter(({ name }) => name === 'script');
      expect(scripts.map(({ attributes }) => attributes.get('src'))).toEqual(['/a.js', '/b.js']);
      const names = elements.flatMap(({ attributes }) => [...attributes.keys()]);
      expect(names.filter((name) => name === 'style' || name.startsWith('on'))).toEqual([]);
      expect(count(markup, 'style')).toBe(0);
      const ids = elements.flatMap(({ attributes }) => attributes.get('id') ?? []);
      expect(ids).toEqual([...new Set(ids)]);
    }
  });
});

describe('addresses of an organization', () => {
  it.each([
    'javascript:alert(1)',
    ' JavaScript:alert(1)',
    'java\nscript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
  ])('are no link when they run a script: %j', (url) => {
    const item = { label: 'x', href: url, isExternal: true, isCurrent: false, children: [] };
    const frame = makeFrame('en', plain, { navigation: [item] });
    const brand = { ...frame.brand, legalLinks: [{ label: 'x', url }] };
    const page: Page = {
      kind: 'page',
      title: 'x',
      blocks: [
        { type: 'link', label: 'x', url },
        { type: 'image', url, alt: 'x' },
      ],
    };
    const { elements } = readMarkup(renderer.renderPage(page, { ...frame, brand }));
    const addresses = elements.flatMap(({ attributes }) => [attributes.get('href'), attributes.get('src')]);
    expect(addresses.filter((address) => address?.toLowerCase().includes('script:'))).toEqual([]);
    expect(addresses).not.toContain(url);
  });
});

/** The texts of a record's only amount. */
function show(language: (typeof languages)[number], amount: string, currency: string | null): string {
  const value = { kind: 'money', amount, currency, digits: null } as const;
  const page: Page = {
    kind: 'record',
    type: 'x',
    title: 'x',
    list: '/x',
    asOf: null,
    status: null,
    amounts: [{ label: 'amount-here', value }],
    fields: [],
    lines: null,
    related: [],
    pay: null,
    ...{ document: 'x', pdf: '/x.pdf', hasNoPdf: false },
  };
  const texts = readMarkup(renderer.renderPage(page, makeFrame(language, plain))).texts.filter(Boolean);
  return (texts[texts.indexOf('amount-here') + 1] ?? '').replaceAll(/[\u00a0\u202f]/g, ' ');
}

describe('money', () => {
  it.each([
    ['en', '12345678901234567890.12345', 'GBP', '£12,345,678,901,234,567,890.12345'],
    ['en', '-0.1', 'USD', '-$0.10'],
    ['en', '1000.00', 'JPY', '¥1,000'],
    ['en', '7.5', 'Florins', '7.50 Florins'],
    ['en', '1234', null, '1,234.00'],
    ['en', 'n/a', 'EUR', 'n/a EUR'],
    ['de', '1234567.8', 'EUR', '1.234.567,80 €'],
    ['fr', '1234567.8', 'EUR', '1 234 567,80 €'],
    ['es', '1234567.8', 'EUR', '1.234.567,80 €'],
    ['nl', '1234567.8', 'EUR', '€ 1.234.567,80'],
  ] as const)('in %s: %s %s is %s', (language, amount, currency, expected) => {
    expect(show(language, amount, currency)).toBe(expected);
  });
});

describe('due dates', () => {
  it.each([
    ['en', -1, '1 day late'],
    ['en', -1200, '1,200 days late'],
    ['en', 0, 'due today'],
    ['de', 3, 'in 3 Tagen'],
    ['fr', -12, '12 jours de retard'],
    ['es', 1, 'en 1 día'],
    ['nl', 3, 'over 3 dagen'],
    ['en', 30, undefined],
    ['en', null, undefined],
  ] as const)('in %s: %s days are %s', (language, days, expected) => {
    const field = { label: 'x', value: { kind: 'due', date: '2026-11-29', days } } as const;
    const page: Page = {
      kind: 'profile',
      asOf: null,
      mails: null,
      isSaved: false,
      fields: [field],
      sessions: [],
    };
    const { elements, texts } = readMarkup(renderer.renderPage(page, makeFrame(language, plain)));
    expect(elements.some(({ attributes }) => attributes.get('datetime') === '2026-11-29')).toBe(true);
    const chips = elements.filter(({ attributes }) =>
      /^chip (?:bad|warn)$/.test(attributes.get('class') ?? ''),
    );
    expect(chips).toHaveLength(expected === undefined ? 0 : 1);
    if (expected !== undefined) expect(texts).toContain(expected);
  });
});

describe('texts outside of pages', () => {
  it('are labels', () => {
    expect(renderer.labelText({ role: 'credit' }, 'de')).toBe('Gutschriften');
    expect(renderer.labelText({ meaning: 'amountDue' }, 'nl')).toBe('Openstaand');
    expect(renderer.labelText({ line: 'quantity' }, 'fr')).toBe('Quantité');
    expect(renderer.labelText({ own: 'home' }, 'es')).toBe('Resumen');
    expect(renderer.labelText('{x} <b>', 'es')).toBe('{x} <b>');
  });

  it.each(languages)('are those of a mail with a code, in %s', (language) => {
    const about = { company: 'Acme {x}', browser: 'Firefox', requestedAt: new Date('2026-11-29T10:00:00Z') };
    const mail = renderer.codeMailTexts(language, about);
    expect(mail.subject).toContain('Acme {x}');
    expect(mail.notes).toHaveLength(3);
    expect(mail.notes[1]).toContain('Firefox');
    expect(mail.notes[1]).toContain('2026');
    expect(renderer.codeMailTexts(language, { ...about, browser: null }).notes[1]).not.toContain('null');
  });
});
