// Builds the console into files with names by content, which the service serves below /console. Nothing is
// inlined: the page's policy allows neither inline scripts nor inline styles.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { defineConfig, minifySync, type Plugin } from 'vite';
import { listKinds } from './connection-kinds.ts';

const base = '/console/';

/**
 * Puts web/shared/theme.js into the head as a classic script, which Vite itself would not build: the page is
 * not painted before it ran.
 */
function themeScript(): Plugin {
  let file = '';
  return {
    name: 'theme-script',
    apply: 'build',
    buildStart() {
      const source = minifySync(
        'theme.js',
        readFileSync(new URL('../shared/theme.js', import.meta.url), 'utf8'),
      ).code;
      file = this.emitFile({ type: 'asset', name: 'theme.js', source });
    },
    generateBundle() {
      file = this.getFileName(file);
    },
    transformIndexHtml: {
      order: 'post',
      handler: () => [{ tag: 'script', attrs: { src: base + file }, injectTo: 'head-prepend' }],
    },
  };
}

/**
 * Writes the licences of the packages whose code is in the bundle into a text file, which the page names and
 * browsers don't load.
 */
function licenceTexts(): Plugin {
  let file = '';
  return {
    name: 'licence-texts',
    apply: 'build',
    generateBundle(_, bundle) {
      const modules = Object.values(bundle).flatMap((chunk) =>
        chunk.type === 'chunk' ? Object.keys(chunk.modules) : [],
      );
      const folders = modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []);
      const texts = [...new Set(folders)].sort().map((folder) => {
        const { name, version } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
        const licence = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
        if (licence === undefined) throw new Error(`${name} has no licence file`);
        return `${name} ${version}\n\n${readFileSync(path.join(folder, licence), 'utf8').trim()}\n`;
      });
      const shared = new URL('../shared/', import.meta.url);
      const copied = readdirSync(shared)
        .filter((name) => name.endsWith('-LICENSE.txt'))
        .map((name) => `${name.split('-')[0]}\n\n${readFileSync(new URL(name, shared), 'utf8').trim()}\n`);
      file = this.getFileName(
        this.emitFile({ type: 'asset', name: 'licences.txt', source: [...texts, ...copied].join('\n\n') }),
      );
    },
    transformIndexHtml: {
      order: 'post',
      handler: () => [{ tag: 'link', attrs: { rel: 'license', href: base + file }, injectTo: 'head' }],
    },
  };
}

/** The id of a certificate is entered on a step of its own, once there is a certificate. */
const isOnForm = ({ name }: { name: string }): boolean => !/\.certificate(Id|Slot)$/.test(name);

/** The module `virtual:connection-kinds`: what each kind of connection asks for, by the OpenAPI description. */
function connectionKinds(): Plugin {
  const id = 'virtual:connection-kinds';
  const source = new URL('../../docs/openapi.json', import.meta.url);
  return {
    name: 'connection-kinds',
    resolveId: (wanted) => (wanted === id ? `\0${id}` : null),
    load(wanted) {
      if (wanted !== `\0${id}`) return null;
      const kinds = listKinds(JSON.parse(readFileSync(source, 'utf8')));
      const shown = kinds.map((kind) => ({ ...kind, fields: kind.fields.filter(isOnForm) }));
      return `export const kinds = ${JSON.stringify(shown)};`;
    },
  };
}

/** The file of a module of the screens: its area. One file for connections and what they offer is smaller than two. */
function chooseFile(id: string): string | null {
  const area = /\/screens\/([\w-]+)\//.exec(id)?.[1] ?? null;
  return area === 'connection' ? 'record-types' : area;
}

export default defineConfig({
  base,
  plugins: [themeScript(), licenceTexts(), connectionKinds()],
  oxc: {
    // Elements compile to shorter calls than with the automatic runtime.
    jsx: { runtime: 'classic', pragma: '$h', pragmaFrag: '$Fragment' },
    jsxInject: "import { h as $h, Fragment as $Fragment } from 'preact'",
  },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    manifest: true,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    target: 'es2023',
    rolldownOptions: {
      output: {
        codeSplitting: {
          // A file for each area of screens, and one for what they share.
          groups: [
            {
              name: 'shared',
              test: /node_modules|console\/src\/(parts\/|styles\/(page|parts|lists)|[\w-]+\.ts)/,
              priority: 1,
            },
            { debugName: 'screens', name: chooseFile },
          ],
        },
      },
    },
    // web/shared/tokens.css is served as it is on other pages too: its light-dark() needs no older form here.
    cssTarget: 'esnext',
  },
});
