// Numbers in templates are exact decimals: compared with arithmetic on whole numbers (BigInt), which shares
// nothing with the library.
import { describe, expect, it } from 'vitest';
import { previewTemplate, renderTemplate } from '../../src/templates/index.ts';

const now = new Date('2026-03-02T10:00:00Z');
const request = (source: string, data: object = {}) => ({
  organizationId: 'a',
  parts: { body: { source, as: 'text' as const } },
  data: data as Record<string, unknown>,
  now,
});
const render = async (source: string, data?: object): Promise<string> =>
  (await renderTemplate(request(source, data))).body;

/** A number as whole units of 10^-`places`. */
const places = 12;
const units = (text: string): bigint => {
  const [whole = '', fraction = ''] = text.replace('-', '').split('.');
  const size = BigInt(`${whole}${fraction.padEnd(places, '0')}`);
  return text.startsWith('-') ? -size : size;
};
const shown = (value: bigint, scale = places): string => {
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0');
  const text = `${digits.slice(0, -scale)}.${digits.slice(-scale)}`.replace(/\.?0+$/, '');
  return value < 0n ? `-${text}` : text;
};

/** Reproducible amounts of up to 20 digits with up to 6 decimals, of either sign. */
function amounts(count: number): string[] {
  let state = 20_261_128n;
  const next = (below: bigint): bigint => {
    state = (state * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n) % 2n ** 64n;
    return (state >> 11n) % below;
  };
  return Array.from({ length: count }, () => {
    const [whole, decimals] = [next(10n ** (1n + next(14n))), Number(next(7n))];
    const fraction =
      decimals === 0 ? '' : `.${String(next(10n ** BigInt(decimals))).padStart(decimals, '0')}`;
    return `${next(3n) === 0n && whole > 0n ? '-' : ''}${whole}${fraction}`;
  });
}

/** Of all its digits, which a float would lose. */
const exactNumber = (text: string): unknown =>
  (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);

describe('a calculation', () => {
  it.each([
    ['{{ 0.1 | plus: 0.2 }}', '0.3'],
    ['{{ 0.0000001 | times: 1 }}', '0.0000001'],
    ['{{ 1.1 | times: 1.1 }}', '1.21'],
    ['{{ 0.3 | minus: 0.1 | minus: 0.2 }}', '0'],
    ['{{ 9007199254740993 | plus: 0 }}', '9007199254740993'],
    ['{{ 4.35 | times: 100 | floor }} {{ 4.35 | times: 100 | ceil }}', '435 435'],
    ['{{ 1.005 | round: 2 }} {{ -2.5 | round }} {{ 1234.5 | round: -2 }}', '1.01 -3 1200'],
    ['{{ -1.5 | floor }} {{ -1.5 | ceil }} {{ -1.5 | abs }}', '-2 -1 1.5'],
    ['{{ 1 | divided_by: 8 }} {{ 7 | divided_by: 2, true }} {{ -7 | divided_by: 2, true }}', '0.125 3 -4'],
    ['{{ 1 | divided_by: 3 }}', '0.33333333333333333333'],
    ['{{ 5.5 | modulo: 2 }} {{ -5.5 | modulo: 2 }} {{ 0.3 | modulo: 0.1 }}', '1.5 0.5 0'],
    [
      '{{ 0.1 | at_least: 0.2 }} {{ "9007199254740993" | at_most: 9007199254740994 }}',
      '0.2 9007199254740993',
    ],
    ['{{ "abc" | plus: 1 }} {{ nil | plus: 1 }} {{ "" | times: 3 }}', '1 1 0'],
  ])('%s is %s', async (source, expected) => {
    expect(await render(source)).toBe(expected);
  });

  it('is exact through chains, whether data has numbers or texts', async () => {
    const values = amounts(90);
    for (const [index, a] of values.entries()) {
      const [b = '0', c = '0'] = [values[(index + 1) % 90], values[(index + 2) % 90]];
      const data = { a: exactNumber(a), b, c };
      expect(await render('{{ a | plus: b | minus: c | abs }}', data)).toBe(
        shown(units(a) + units(b) - units(c)).replace('-', ''),
      );
      expect(await render('{{ a | times: b | times: c }}', data)).toBe(
        shown(units(a) * units(b) * units(c), 3 * places),
      );
      expect(await render('{% if a < b %}less{% elsif a > b %}more{% else %}same{% endif %}', data)).toBe(
        units(a) < units(b) ? 'less' : units(a) > units(b) ? 'more' : 'same',
      );
    }
  });

  it('sums and sorts items and their properties', async () => {
    const values = amounts(40);
    const total = values.reduce((sum, value) => sum + units(value), 0n);
    const data = { lines: values.map((amount) => ({ amount })), values };
    expect(
      await render('{{ lines | map: "amount" | sum }} {{ lines | sum: "amount" }} {{ values | sum }}', data),
    ).toBe(Array.from({ length: 3 }, () => shown(total)).join(' '));
    const sorted = values
      .toSorted((a, b) => (units(a) < units(b) ? -1 : units(a) > units(b) ? 1 : 0))
      .join(' ');
    expect(await render('{{ values | sort | join: " " }}', data)).toBe(sorted);
    expect(await render('{{ lines | sort: "amount" | map: "amount" | join: " " }}', data)).toBe(sorted);
    expect(await render('{{ list | sort | join: " " }}', { list: ['b10', 'a', '9'] })).toBe('9 a b10');
  });

  it('compares beyond what a float tells apart', async () => {
    const source =
      '{% if a == 9007199254740993 %}same{% endif %}{% case a %}{% when 9007199254740992 %}wrong{% when 9007199254740993 %} case{% endcase %}';
    expect(await render(source, { a: '9007199254740993' })).toBe('');
    expect(
      await render(source.replaceAll(' a ', ' b ').replace('{% if', '{% assign b = a | plus: 0 %}{% if'), {
        a: '9007199254740993',
      }),
    ).toBe('same case');
    expect(await render('{{ list | uniq | join: "," }} {{ list | json }}', { list: [1, 2, 1] })).toBe(
      '1,2 [1,2,1]',
    );
  });

  it('shows nothing of how a number is held', async () => {
    const data = { big: exactNumber('12345678901234567890.5'), endless: exactNumber(`${'9'.repeat(600)}e9`) };
    expect(
      await render(
        '{{ big.value }}{{ big.constructor }}{{ big.equals }}{{ big.c }}|{{ big }}|{{ endless | size }}',
        data,
      ),
    ).toBe('|12345678901234567890.5|602');
  });

  it('by zero is a problem in a preview and empty in a mail', async () => {
    for (const source of ['a {{ 1 | divided_by: 0 }}', 'a {{ 1 | modulo: 0 }}']) {
      const { problems } = await previewTemplate(request(source));
      expect(problems).toMatchObject([{ code: 'failed', message: 'divided by 0', line: 1 }]);
      expect(await render(source)).toBe('a ');
    }
  });

  it('with too many digits is a problem', async () => {
    const { problems } = await previewTemplate(
      request(`{{ 9999999999${' | times: 9999999999'.repeat(120)} }}`),
    );
    expect(problems).toMatchObject([{ code: 'failed', message: 'A number has more than 1000 digits' }]);
  });
});
