// Branding of the portal: what may be stored, which accents can be read, and what is left of a logo.
import { beforeAll, describe, expect, it } from 'vitest';
import { loadCompany } from '../../portal/company.ts';
import { asOwner, switchOn } from '../../portal/served-portal.ts';
import { openBrowser } from '../../portal/visiting.ts';
import { listProblems, refusal } from '../../setup/api.ts';
import { useOrganization } from '../../setup/use-organization.ts';
import {
  end,
  header,
  listChunks,
  pixels,
  png,
  readPixels,
  rows,
  square,
  svg,
  text,
  toBase64,
  toPng,
  webp,
  withWebpChunk,
} from './logos.ts';

const org = useOrganization();
const at = '/portal/branding';
const put = (body: object) => org.api('put', at, body);
const putLogo = (file: Buffer | string) => put({ logo: toBase64(file) });

beforeAll(async () => {
  await loadCompany(org.ctx, org.id, {});
  await switchOn(await asOwner(org));
});

/** The logo as the portal serves it. */
async function readServed(): Promise<Buffer> {
  const { revision } = (await org.api('get', at)).body;
  const { status, body } = await openBrowser(org).get(`/brand/${revision}/logo`, { accept: 'image/*' });
  expect(status).toBe(200);
  return Buffer.from(body);
}
async function rewrite(file: Buffer | string): Promise<Buffer> {
  const answer = await putLogo(file);
  expect([answer.status, listProblems(answer)]).toEqual([200, []]);
  return readServed();
}
const rewriteText = async (file: string): Promise<string> => (await rewrite(file)).toString();

describe('branding', () => {
  it('has defaults until it is stored, and the revision guards against overwriting', async () => {
    const other = await org.another();
    const before = await other.api('get', at);
    const unset = {
      ...{ name: null, accent: null, supportAddress: null, legalLinks: [], senderName: null },
      ...{ postalAddress: null, documentNote: null },
    };
    expect(before.body).toEqual({ ...unset, logo: null, revision: 0, updatedAt: null });
    const given = {
      name: 'Acme',
      accent: '#0B6E4F',
      supportAddress: 'Help@acme.example',
      legalLinks: [{ label: 'Terms', url: 'https://acme.example/terms' }],
      senderName: 'Acme accounts',
      postalAddress: '12 Harbour Street\nBristol',
      documentNote: 'Pay within 30 days.',
    };
    const stored = { ...given, accent: '#0b6e4f', supportAddress: 'help@acme.example' };
    const saved = await other.api('put', at, { ...given, revision: 0 });
    expect([saved.status, saved.body]).toMatchObject([200, { ...stored, revision: 1 }]);
    expect((await other.api('get', at)).body).toEqual(saved.body);
    expect(await refusal(other.api('put', at, { ...given, revision: 0 }))).toEqual([422, 'stale_revision']);
    expect((await other.api('put', at, { revision: 1 })).body).toMatchObject({ ...unset, revision: 2 });
    const { data } = (await other.api('get', `${other.at}/audit-log?action=portal.update-branding`)).body;
    expect(data.map(({ changes }: { changes: object }) => changes)).toMatchObject([
      { revision: 2, name: null },
      { revision: 1, name: 'Acme' },
    ]);
  });

  it('keeps the logo unless another one or null is given', async () => {
    await putLogo(png);
    const logo = { contentType: 'image/png', width: 2, height: 3 };
    expect((await put({ name: 'Acme' })).body).toMatchObject({ name: 'Acme', logo });
    expect((await putLogo(svg(square))).body.logo).toMatchObject({
      contentType: 'image/svg+xml',
      width: 24,
      height: 12,
    });
    expect((await put({ logo: null })).body.logo).toBeNull();
  });

  it('refuses what is no colour, address or link', async () => {
    const refused = await put({
      name: 'A\nB',
      accent: 'red',
      supportAddress: 'help',
      senderName: ' ',
      postalAddress: 'Line\n'.repeat(9),
      documentNote: 'x'.repeat(1_001),
      legalLinks: [{ label: 'Terms', url: 'javascript:alert(1)' }],
      logo: 'no base64',
    });
    const paths = ['name', 'accent', 'supportAddress', 'legalLinks[0].url', 'senderName', 'logo'].concat([
      'postalAddress',
      'documentNote',
    ]);
    expect([...new Set(listProblems(refused).map((line) => line.split(' ')[0]))].sort()).toEqual(
      paths.sort(),
    );
    const links = Array.from({ length: 7 }, () => ({ label: 'x', url: 'https://acme.example/' }));
    expect(listProblems(await put({ legalLinks: links }))).toEqual(['legalLinks too_big']);
  });
});

/** WCAG 2.2, relative luminance and contrast ratio. */
function luminanceOf(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
const contrastWithWhite = (color: string): number => 1.05 / (luminanceOf(color) + 0.05);

describe('an accent', () => {
  it.each(['#000000', '#767676', '#1d5fd1', '#0b6e4f', '#a5211a'])(
    '%s can be read on white',
    async (accent) => {
      expect((await put({ accent })).body.accent).toBe(accent);
    },
  );

  it.each(['#777777', '#ffffff', '#ff8800', '#00ff00', '#7ea6ff', '#f0146b'])(
    '%s can not, and the answer names a colour that can',
    async (accent) => {
      expect(contrastWithWhite(accent)).toBeLessThan(4.5);
      const answer = await put({ accent });
      expect([answer.status, listProblems(answer)]).toEqual([422, ['accent low_contrast']]);
      const [{ message }] = answer.body.error.details;
      const nearest = /nearest colour that has it is (#[0-9a-f]{6})$/.exec(message)?.[1] ?? '';
      expect(contrastWithWhite(nearest)).toBeGreaterThanOrEqual(4.5);
      expect(contrastWithWhite(nearest)).toBeLessThan(4.6);
      expect((await put({ accent: nearest })).status).toBe(200);
    },
  );
});

describe('a logo as PNG', () => {
  const palette: [string, Buffer] = ['PLTE', Buffer.from([255, 0, 0, 0, 255, 0])];

  it('keeps its pixels, palette and transparency, and nothing else', async () => {
    const secret = 'taken at home';
    const file = Buffer.concat([
      toPng(header(), text(secret), ['eXIf', Buffer.from(secret)], pixels(), text(secret), end),
      Buffer.from(`<script>alert(1)</script>${secret}`),
    ]);
    const written = await rewrite(file);
    expect(listChunks(written).map(([type]) => type)).toEqual(['IHDR', 'IDAT', 'IEND']);
    expect(readPixels(written)).toEqual(rows);
    expect(written.includes(secret)).toBe(false);
    const indexed = Buffer.from([0, 0b01000000, 0, 0b10000000, 0, 0]);
    const clear: [string, Buffer] = ['tRNS', Buffer.from([0])];
    const paletted = await rewrite(
      toPng(header({ depth: 1, colorType: 3 }), palette, clear, pixels(indexed), end),
    );
    expect(listChunks(paletted).filter(([type]) => type === 'PLTE' || type === 'tRNS')).toEqual([
      palette,
      clear,
    ]);
    expect(readPixels(paletted)).toEqual(indexed);
  });

  it('keeps nothing that follows the pixels in their own compressed part, or in several', async () => {
    const [, packed] = pixels();
    const hidden = Buffer.concat([packed, Buffer.from('hidden <script>')]);
    const parts = [hidden.subarray(0, 5), hidden.subarray(5)].map((data): [string, Buffer] => ['IDAT', data]);
    const written = await rewrite(toPng(header(), ...parts, end));
    expect(readPixels(written)).toEqual(rows);
    expect(written.includes('hidden')).toBe(false);
  });

  it('may be interlaced', async () => {
    // Seven passes over 5 × 5 grey pixels: 1, 1, 2, 2, 6 of 3, 6 of 2 and 10 pixels.
    const passes = [
      [1, 1],
      [1, 1],
      [2, 1],
      [1, 2],
      [3, 1],
      [2, 3],
      [5, 2],
    ];
    const raw = passes.flatMap(([columns = 0, count = 0], pass) =>
      Array.from({ length: count }, () => [0, ...Array(columns).fill(pass)]).flat(),
    );
    const file = toPng(
      header({ width: 5, height: 5, colorType: 0, interlace: 1 }),
      pixels(Buffer.from(raw)),
      end,
    );
    expect(readPixels(await rewrite(file))).toEqual(Buffer.from(raw));
  });

  const damaged = Buffer.from(png);
  damaged[40] = (damaged[40] ?? 0) ^ 1;
  it.each<[string, Buffer]>([
    ['a wrong checksum', damaged],
    ['no end', toPng(header(), pixels())],
    ['its end cut off', png.subarray(0, -6)],
    ['no pixels', toPng(header(), end)],
    ['fewer pixels than its header says', toPng(header({ height: 4 }), pixels(), end)],
    ['more pixels than its header says', toPng(header({ height: 2 }), pixels(), end)],
    ['a bomb for pixels', toPng(header(), pixels(Buffer.alloc(50_000_000)), end)],
    ['a filter that PNG does not have', toPng(header(), pixels(Buffer.from(rows).fill(9, 0, 1)), end)],
    ['30,000 pixels on each side', toPng(header({ width: 30_000, height: 30_000 }), pixels(), end)],
    ['no width', toPng(header({ width: 0 }), pixels(Buffer.alloc(3)), end)],
    ['a header that is not valid', toPng(header({ depth: 4 }), pixels(), end)],
    ['no palette where it needs one', toPng(header({ depth: 8, colorType: 3 }), pixels(), end)],
    ['a palette of no whole colours', toPng(header(), ['PLTE', Buffer.alloc(4)], pixels(), end)],
    ['an unknown part that it needs', toPng(header(), ['EVIL', Buffer.alloc(4)], pixels(), end)],
    ['nothing but its first bytes', png.subarray(0, 8)],
  ])('is refused with %s', async (_title, file) => {
    expect(await refusal(putLogo(file))).toEqual([422, 'unreadable_logo']);
  });
});

describe('a logo as WebP', () => {
  it.each(['lossy', 'lossless', 'alpha'] as const)('keeps its picture: %s', async (kind) => {
    const own = Buffer.from(webp[kind], 'base64');
    const secret = Buffer.from('taken at home');
    const file = Buffer.concat([withWebpChunk(webp[kind], 'EXIF', secret), Buffer.from('<script>')]);
    const written = await rewrite(file);
    expect(written.toString('base64')).toBe(own.toString('base64'));
    expect((await org.api('get', at)).body.logo).toEqual({
      ...{ contentType: 'image/webp', bytes: own.length, width: 1, height: 1 },
    });
  });

  it.each<[string, Buffer]>([
    ['moves', Buffer.from(webp.moving, 'base64')],
    ['is cut off', Buffer.from(webp.lossy, 'base64').subarray(0, -4)],
    ['has no picture', withWebpChunk(toBase64('RIFF    WEBP'), 'EXIF', Buffer.from('xy'))],
    ['has two pictures', withWebpChunk(webp.lossy, 'VP8 ', Buffer.alloc(12))],
  ])('is refused when it %s', async (_title, file) => {
    expect(await refusal(putLogo(file))).toEqual([422, 'unreadable_logo']);
  });
});

describe('a logo as SVG', () => {
  it('keeps what it draws', async () => {
    const inner =
      '<defs><linearGradient id="g"><stop offset="0" stop-color="#fff"/></linearGradient><clipPath id="c"><rect width="9" height="9"/></clipPath></defs>' +
      '<style>.a,.b{fill:url(#g);stroke:none}</style>' +
      '<g class="a" transform="translate(1 2)" clip-path="url(#c)"><path d="M0 0h9v9z" style="fill:#123456;stroke-width:2"/></g>' +
      '<text x="1" y="2" font-family="Inter, sans-serif">Acme &amp; Co <tspan>Ltd</tspan></text><use href="#g"/>';
    expect(await rewriteText(svg(inner))).toBe(
      `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 12">${inner}</svg>`,
    );
  });

  it('keeps nothing that runs, loads or leads elsewhere', async () => {
    const written = await rewriteText(
      `<?xml version="1.0"?><?xml-stylesheet href="https://evil.example/x.css"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "https://evil.example/x.dtd">${svg(
        `<script>alert(1)</script><script href="https://evil.example/x.js"/><g onload="alert(2)" onclick='x'>${square}</g>
         <foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><img src="x" onerror="alert(3)"/></body></foreignObject>
         <image href="https://evil.example/x.png"/><use xlink:href="https://evil.example/x.svg#a"/><use href="data:image/svg+xml,x"/>
         <a href="javascript:alert(4)">${square}</a><animate attributeName="href" to="javascript:alert(5)"/><set attributeName="onload" to="x"/>
         <rect width="1" height="1" fill="url(https://evil.example/x)" style="fill:url('//evil.example/y');stroke:red"/>
         <style>.a{background:url(https://evil.example/z);fill:blue} .b{fill:expression(alert(6))} /* evil.example */</style>
         <iframe src="https://evil.example"/><h:script xmlns:h="http://www.w3.org/1999/xhtml">alert(7)</h:script><filter id="f"><feImage href="https://evil.example/f"/></filter>
         <!-- evil.example --><metadata>evil.example</metadata><text>&lt;script&gt;alert(8)&lt;/script&gt;<![CDATA[<script>]]></text>`,
        'viewBox="0 0 24 12" onload="alert(9)" xml:base="https://evil.example/"',
      )}`,
    );
    expect(written).not.toMatch(
      /evil|<script|onload|onclick|javascript|data:|foreign|iframe|metadata|animate|<set|image/i,
    );
    expect(written).toContain('style="stroke:red"');
    expect(written).toContain('.a{fill:blue}');
    expect(written).toContain('&lt;script&gt;alert(8)');
  });

  const bomb = Array.from(
    { length: 12 },
    (_, level) => `<g id="b${level + 1}">${`<use href="#b${level}"/>`.repeat(10)}</g>`,
  ).join('');
  const patterns = Array.from(
    { length: 12 },
    (_, level) =>
      `<pattern id="b${level + 1}" width="1" height="1">${`<rect class="l${level}" width="1" height="1"/>`.repeat(10)}</pattern>`,
  ).join('');
  const classes = Array.from({ length: 12 }, (_, level) => `.l${level}{fill:url(#b${level})}`).join('');
  it.each<[string, string | Buffer]>([
    ['is no XML', '<svg><rect></svg>'],
    ['is a page', '<!doctype html><html><body>x</body></html>'],
    ['draws nothing', svg('<script>alert(1)</script>')],
    [
      'has entities of its own',
      `<!DOCTYPE svg [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>${svg(`<text>&b;</text>${square}`)}`,
    ],
    [
      'has an entity of a file',
      `<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]>${svg(`<text>&a;</text>${square}`)}`,
    ],
    ['refers to itself ever more often', svg(`<g id="b0">${square}</g>${bomb}`)],
    [
      'fills patterns with patterns',
      svg(`<style>${classes}</style>${patterns}<rect class="l12" width="1"/>`),
    ],
    ['refers to itself in a circle', svg('<g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g>')],
    ['has ten thousand levels', svg(`${'<g>'.repeat(10_000)}${square}${'</g>'.repeat(10_000)}`)],
    ['imports a style sheet', svg(`<style>@import "https://evil.example/x.css";</style>${square}`)],
    ['is not UTF-8', Buffer.from(svg(`<text>\u00e9</text>${square}`), 'latin1')],
    ['is UTF-16', Buffer.from(svg(square), 'utf16le')],
  ])('is refused when it %s', async (_title, file) => {
    expect(await refusal(putLogo(file))).toEqual([422, 'unreadable_logo']);
  });
});

describe('a file', () => {
  it.each<[string, string | Buffer]>([
    ['GIF', Buffer.from('R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==', 'base64')],
    ['JPEG', Buffer.from('ffd8ffe000104a46494600', 'hex')],
    ['PDF', '%PDF-1.4'],
    ['text', 'Acme'],
    ['script in front of SVG', `//<svg\n${svg(square)}`],
    ['more than 256 kB', svg(`<path d="${'M0 0'.repeat(70_000)}"/>`)],
  ])('of %s is no logo', async (_title, file) => {
    const [status, code] = await refusal(putLogo(file));
    expect([status, code]).toEqual([422, expect.stringMatching(/^(unreadable_logo|too_big)$/)]);
  });

  it('that is a picture and something else is written as the picture alone', async () => {
    // A PNG that is also an SVG, an HTML page and a script for who reads them from their first "<".
    const page = `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/><script>alert(2)</script>`;
    const written = await rewrite(
      Buffer.concat([toPng(header(), text(page), pixels(), end), Buffer.from(page)]),
    );
    expect(written.toString('latin1')).not.toMatch(/svg|script|alert/);
  });
});
