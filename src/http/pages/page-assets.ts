// The files that pages load: styles, scripts, pictures and the typeface below web/, but for the console, which
// has its own. All are read at start-up, and no other file is ever served.
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { RequestHandler } from 'express';
import { inRoot } from '../../core/root.ts';
import type { SmallPageFiles } from './small-page.ts';
import { type Asset, assetsVersion, readAsset, serveAssets } from './static-page.ts';

export const webFolders = {
  shared: inRoot('web/shared/'),
  docs: inRoot('web/docs/'),
  welcome: inRoot('web/welcome/'),
  invitations: inRoot('web/invitations/'),
  payments: inRoot('web/payments/'),
  portal: inRoot('web/portal/files/'),
  reference: inRoot('web/reference/'),
};
const served = new Set(['.css', '.js', '.svg', '.woff2']);
const packages = createRequire(import.meta.url);

/** The files of a folder, by names such as `shared/tokens.css`. */
const readFolder = ([folder, at]: readonly [string, string]): [string, Asset][] =>
  readdirSync(at, { recursive: true, encoding: 'utf8' })
    .filter((name) => served.has(path.extname(name)))
    .sort()
    .map((name) => [`${folder}/${name.split(path.sep).join('/')}`, readAsset(path.join(at, name))]);

export type PageAssets = {
  /** Mount it at /assets. */
  readonly handler: RequestHandler;
  /** Their address, such as `/assets/0123456789abcdef`; it changes with their content. */
  readonly address: string;
  readonly smallPage: SmallPageFiles;
};

/** Throws when a file can't be read. */
export function readPageAssets(): PageAssets {
  const assets = new Map<string, Asset>([
    ...Object.entries(webFolders).flatMap(readFolder),
    ['reference/marked.esm.js', readAsset(packages.resolve('marked'))],
  ]);
  const version = assetsVersion(assets);
  const address = `/assets/${version}`;
  return {
    handler: serveAssets(assets, version),
    address,
    smallPage: {
      stylesheets: ['tokens', 'small'].map((name) => `${address}/shared/${name}.css`),
      icon: `${address}/shared/icon.svg`,
    },
  };
}
