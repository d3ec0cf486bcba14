// Places lines and rules on pages from top to bottom. Nothing is drawn before all pages are laid out, because
// every page names their number.
import type { Line, Typesetter } from './lines.ts';
import { lineHeight, paper } from './styles.ts';

export type PlacedText = Line & {
  readonly x: number;
  /** Of the baseline. */
  readonly y: number;
};
export type Rule = {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly color: string;
};
export type Page = { readonly texts: PlacedText[]; readonly rules: Rule[] };

/** Lines below each other, `x` being their left edge or, where they are `right`-aligned, their right one. */
export type Block = { readonly x: number; readonly right?: boolean; readonly lines: readonly Line[] };
export type RowOptions = {
  readonly lineHeight: number;
  readonly padding?: number;
  /** Called at the top of a page that continues the row. */
  readonly onNewPage?: (() => void) | undefined;
};

export const rowHeight = (blocks: readonly Block[], { lineHeight, padding = 0 }: RowOptions): number =>
  Math.max(0, ...blocks.map(({ lines }) => lines.length)) * lineHeight + 2 * padding;

export class Sheet {
  readonly pages: Page[] = [];
  readonly #widthOf: Typesetter['widthOf'];
  #page: Page = { texts: [], rules: [] };
  #y: number = paper.top;

  constructor({ widthOf }: Typesetter) {
    this.#widthOf = widthOf;
    this.startPage();
  }

  get y(): number {
    return this.#y;
  }

  moveTo(y: number): void {
    this.#y = y;
  }

  startPage(): void {
    this.#page = { texts: [], rules: [] };
    this.pages.push(this.#page);
    this.#y = paper.top;
  }

  /** Whether there is room for this height on the page. */
  hasRoom(height: number): boolean {
    return this.#y + height <= paper.bottom;
  }

  rule(rule: Omit<Rule, 'y'>): void {
    this.#page.rules.push({ ...rule, y: this.#y });
  }

  /** Continues on further pages where a row is higher than a page. */
  placeRow(blocks: readonly Block[], options: RowOptions): void {
    const { lineHeight: height, padding = 0, onNewPage } = options;
    const count = blocks.reduce((most, { lines }) => Math.max(most, lines.length), 0);
    let from = 0;
    for (;;) {
      const fitting = Math.floor((paper.bottom - this.#y - 2 * padding) / height);
      const to = Math.min(count, from + Math.max(fitting, 0));
      for (const block of blocks)
        for (const [index, line] of block.lines.slice(from, to).entries())
          this.#placeLine(block, line, this.#y + padding + index * height, height);
      this.#y += (to - from) * height + 2 * padding;
      from = to;
      if (from >= count) return;
      this.startPage();
      onNewPage?.();
    }
  }

  /** Lines of one block, each as high as its own style. */
  placeLines(x: number, lines: readonly Line[], right = false): void {
    for (const line of lines)
      this.placeRow([{ x, right, lines: [line] }], { lineHeight: lineHeight(line.style) });
  }

  #placeLine({ x, right = false }: Block, line: Line, top: number, height: number): void {
    const { text, style } = line;
    if (text === '') return;
    // Capitals are in the middle of the line.
    const y = top + height / 2 + style.size * 0.36;
    this.#page.texts.push({ ...line, x: right ? x - this.#widthOf(text, style) : x, y });
  }
}
