import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseHostname } from '../../../src/platform/domains/hostname.ts';

const kept = (text: string) => {
  const read = parseHostname(text);
  return 'hostname' in read ? read.hostname : read.problem.code;
};
const letters = (count: number) => 'a'.repeat(count);

const longest = `${letters(63)}.${letters(63)}.${letters(63)}.${letters(39)}.com`;
/** Hostnames that are kept as they are; no list has every top-level domain, so the DNS lookup decides. */
const canonical = [
  ...['acme.com', 'ab--c.com', '1.acme.com', '3com.com', 'customer.github.io', 'city.kawasaki.jp'],
  ...['acme.test', 'acme.example', 'acme.newtld', `${letters(63)}.com`, longest],
];
it.each<[given: string, hostname: string]>([
  ...canonical.map((hostname): [string, string] => [hostname, hostname]),
  ['Portal.ACME.Com', 'portal.acme.com'],
  ['  acme.com ', 'acme.com'],
  ['acme.com.', 'acme.com'],
  ['Müller.de', 'xn--mller-kva.de'],
  ['MÜLLER.DE', 'xn--mller-kva.de'],
  ['mu\u0308ller.de', 'xn--mller-kva.de'],
  ['XN--Mller-KVA.de', 'xn--mller-kva.de'],
  ['straße.de', 'xn--strae-oqa.de'],
  ['shop。acme．com｡', 'shop.acme.com'],
  ['ａｃｍｅ.com', 'acme.com'],
  ['食狮.公司.cn', 'xn--85x722f.xn--55qx5d.cn'],
  ['אב.com', 'xn--4dbc.com'],
  ['i❤.ws', 'xn--i-7iq.ws'],
])('parseHostname returns the canonical form %s', (given, hostname) => {
  expect(kept(given)).toBe(hostname);
  expect(kept(hostname)).toBe(hostname);
});

const tooLong = `${letters(63)}.${letters(63)}.${letters(63)}.${letters(40)}.com`;
/** A code, then hostnames that are refused with it for the same reason. */
const refused: [code: string, ...hostnames: string[]][] = [
  ['not_a_hostname', '', '.', '.com', 'a..com', 'acme.com..'],
  ['not_a_hostname', 'http://acme.com', 'acme.com/path', 'acme.com\\path', 'acme.com:443', 'you@acme.com'],
  ['not_a_hostname', 'acme.com?x', 'acme.com#x', 'ac%6De.com', '*.acme.com', "acme'.com"],
  ['not_a_hostname', 'acme.com：80', 'acme.com／path', 'acme.com？q', 'acme.com＃q', 'you＠acme.com'],
  ['not_a_hostname', 'acme％2ecom.com', '℀.com', '⒈.com'],
  ['not_a_hostname', '_dmarc.acme.com', 'my_shop.acme.com', '-acme.com', 'acme-.com'],
  ['not_a_hostname', 'two words.com', 'acme\u00a0x.com', 'a\u200db.com', '\u202eacme.com'],
  ['not_a_hostname', `${letters(64)}.com`, `${'ä'.repeat(60)}.com`],
  ['not_a_hostname', 'xn--a.com', 'xn--zzzzzz--.com', 'xn--.com', 'xn--acme-.com'],
  ['not_a_hostname', 'אa.com', '1א.com'],
  ['not_a_hostname', 'acme.123', 'acme.0x1', '[::1]'],
  ['too_long', tooLong],
  ['ip_address', '192.0.2.1', '127.1', '0x7f.1', '2130706433', '１２７.0.0.1', '::1', '2001:db8::1'],
  ['single_label', 'com', 'intranet'],
  ['not_public', 'localhost', 'x.localhost', 'printer.local', 'db.internal', 'x.invalid', 'x.onion'],
  ['not_public', '1.0.0.127.in-addr.arpa'],
  ['public_suffix', 'co.uk', 'CO.UK.', '公司.cn', 'github.io', 'appspot.com', 's3.amazonaws.com'],
  ['public_suffix', 'a.kawasaki.jp', 'foo.ck'],
];
it.each(refused.flatMap(([code, ...hostnames]) => hostnames.map((given) => [given, code])))(
  'parseHostname rejects %s: %s',
  (given, code) => {
    expect(kept(given ?? '')).toBe(code);
  },
);

it('any input is rejected, or normalized to a form that is stable and valid in the DNS', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.domain(),
    fc.tuple(fc.string({ unit: 'grapheme', maxLength: 20 }), fc.domain()).map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(text, (given) => {
      const read = parseHostname(given);
      if ('problem' in read) {
        expect(read.problem.code).toMatch(/^[a-z_]+$/);
        return;
      }
      expect(read.hostname).toMatch(/^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]+$/);
      expect(read.hostname.length).toBeLessThanOrEqual(235);
      expect(kept(read.hostname)).toBe(read.hostname);
    }),
    { numRuns: 2_000 },
  );
});
