// Draws the portal's pages as HTML, and the texts of its mails: the entry point of the bundle.
import { renderToString } from 'preact-render-to-string';
import type { Renderer } from '../../../src/portal/renderer-model.ts';
import type { Frame, Page } from '../../../src/portal/view-model.ts';
import { codeMailTexts } from './code-mail.ts';
import { orderedMailTexts } from './ordered-mail.ts';
import { papers } from './paper.ts';
import { Document } from './parts/document.tsx';
import { receiptTexts } from './receipt.ts';
import { createTexts, labelText } from './texts.ts';
import { ViewContext } from './view.ts';

function renderPage(page: Page, frame: Frame): string {
  const view = { ...createTexts(frame.language, frame.timeZone), frame };
  return `<!doctype html>\n${renderToString(
    <ViewContext.Provider value={view}>
      <Document page={page} />
    </ViewContext.Provider>,
  )}\n`;
}

export const renderer: Renderer = {
  renderPage,
  labelText,
  codeMailTexts,
  receiptTexts,
  orderedMailTexts,
  ...papers,
};
