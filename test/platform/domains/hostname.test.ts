import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseHostname } from '../../../src/platform/domains/hostname.ts';

const kept = (text: string) => {
  const read = parseHostname(text);
  return 'hostname' in read ? read.hostname : read.problem.code;
};
const letters = (count: number) => 'a'.repeat(count);

it.each([
  ['acme.com', 'acme.com'],
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
  ['ab--c.com', 'ab--c.com'],
  ['1.acme.com', '1.acme.com'],
  ['3com.com', '3com.com'],
  ['customer.github.io', 'customer.github.io'],
  ['city.kawasaki.jp', 'city.kawasaki.jp'],
  // No list has every top-level domain; the DNS lookup decides.
  ['acme.test', 'acme.test'],
  ['acme.example', 'acme.example'],
  ['acme.newtld', 'acme.newtld'],
  [`${letters(63)}.com`, `${letters(63)}.com`],
  [
    `${letters(63)}.${letters(63)}.${letters(63)}.${letters(39)}.com`,
    `${letters(63)}.${letters(63)}.${letters(63)}.${letters(39)}.com`,
  ],
])('parseHostname returns the canonical form %s', (given, hostname) => {
  expect(kept(given)).toBe(hostname);
  expect(kept(hostname)).toBe(hostname);
});

it.each([
  ['', 'not_a_hostname'],
  ['.', 'not_a_hostname'],
  ['.com', 'not_a_hostname'],
  ['a..com', 'not_a_hostname'],
  ['acme.com..', 'not_a_hostname'],
  ['http://acme.com', 'not_a_hostname'],
  ['acme.com/path', 'not_a_hostname'],
  ['acme.com\\path', 'not_a_hostname'],
  ['acme.com：80', 'not_a_hostname'],
  ['acme.com／path', 'not_a_hostname'],
  ['acme.com？q', 'not_a_hostname'],
  ['acme.com＃q', 'not_a_hostname'],
  ['you＠acme.com', 'not_a_hostname'],
  ['acme％2ecom.com', 'not_a_hostname'],
  ['℀.com', 'not_a_hostname'],
  ['acme.com:443', 'not_a_hostname'],
  ['you@acme.com', 'not_a_hostname'],
  ['acme.com?x', 'not_a_hostname'],
  ['acme.com#x', 'not_a_hostname'],
  ['ac%6De.com', 'not_a_hostname'],
  ['*.acme.com', 'not_a_hostname'],
  ['_dmarc.acme.com', 'not_a_hostname'],
  ['my_shop.acme.com', 'not_a_hostname'],
  ['two words.com', 'not_a_hostname'],
  ['acme\u00a0x.com', 'not_a_hostname'],
  ["acme'.com", 'not_a_hostname'],
  ['-acme.com', 'not_a_hostname'],
  ['acme-.com', 'not_a_hostname'],
  [`${letters(64)}.com`, 'not_a_hostname'],
  [`${'ä'.repeat(60)}.com`, 'not_a_hostname'],
  ['xn--a.com', 'not_a_hostname'],
  ['xn--zzzzzz--.com', 'not_a_hostname'],
  ['xn--.com', 'not_a_hostname'],
  ['xn--acme-.com', 'not_a_hostname'],
  ['אa.com', 'not_a_hostname'],
  ['1א.com', 'not_a_hostname'],
  ['a\u200db.com', 'not_a_hostname'],
  ['\u202eacme.com', 'not_a_hostname'],
  ['⒈.com', 'not_a_hostname'],
  ['acme.123', 'not_a_hostname'],
  ['acme.0x1', 'not_a_hostname'],
  [`${letters(63)}.${letters(63)}.${letters(63)}.${letters(40)}.com`, 'too_long'],
  ['192.0.2.1', 'ip_address'],
  ['127.1', 'ip_address'],
  ['0x7f.1', 'ip_address'],
  ['2130706433', 'ip_address'],
  ['１２７.0.0.1', 'ip_address'],
  ['::1', 'ip_address'],
  ['2001:db8::1', 'ip_address'],
  ['[::1]', 'not_a_hostname'],
  ['com', 'single_label'],
  ['intranet', 'single_label'],
  ['localhost', 'not_public'],
  ['x.localhost', 'not_public'],
  ['printer.local', 'not_public'],
  ['db.internal', 'not_public'],
  ['x.invalid', 'not_public'],
  ['x.onion', 'not_public'],
  ['1.0.0.127.in-addr.arpa', 'not_public'],
  ['co.uk', 'public_suffix'],
  ['CO.UK.', 'public_suffix'],
  ['公司.cn', 'public_suffix'],
  ['github.io', 'public_suffix'],
  ['appspot.com', 'public_suffix'],
  ['s3.amazonaws.com', 'public_suffix'],
  ['a.kawasaki.jp', 'public_suffix'],
  ['foo.ck', 'public_suffix'],
])('parseHostname rejects %s: %s', (given, code) => {
  expect(kept(given)).toBe(code);
});

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
