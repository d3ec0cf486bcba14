// The fenced blocks of a page, and what their info strings say: docs/development.md describes them.
import { readFileSync } from 'node:fs';
import { marked, type Token, type Tokens } from 'marked';

export type Block = {
  readonly text: string;
  readonly language: string;
  /**
   * `run` in the shell of the page · `terminal`: goes on running in a terminal of its own · `output` of the
   * commands before it · `unused`: neither run nor compared, for a reason.
   */
  readonly use: 'run' | 'terminal' | 'output' | 'unused';
};

/** Blocks that another test reads, by page and language. That test names the page. */
const testedElsewhere: Readonly<Record<string, string>> = {
  'docs/adding-an-erp.md ts': 'test/connectors/second-erp.test.ts',
  'docs/operations.md sql': 'test/ops/database-logins.test.ts',
  'docs/operations.md yaml': 'test/operate/metrics.test.ts',
  'docs/portal.md sql': 'test/connectors/netsuite/query-source.test.ts',
  'docs/portal-domains.md caddyfile': 'test/ops/caddy.test.ts',
};

function parseUse(page: string, language: string, mark: string): Block['use'] | undefined {
  if (/^not (run|compared): \S/.test(mark))
    return mark.startsWith('not run') === (language === 'sh') ? 'unused' : undefined;
  if (language === 'sh') return mark === '' ? 'run' : mark === 'terminal' ? 'terminal' : undefined;
  if (mark === 'output') return 'output';
  if (mark !== '') return undefined;
  const test = testedElsewhere[`${page} ${language}`];
  return language === 'mermaid' || (test !== undefined && readFileSync(test, 'utf8').includes(page))
    ? 'unused'
    : undefined;
}

function readBlock(page: string, { lang = '', text }: Tokens.Code): Block {
  const [, language = '', mark = ''] = /^(\S*)\s*(.*)$/.exec(lang) ?? [];
  const use = parseUse(page, language, mark);
  if (use === undefined)
    throw new Error(`${page}: nothing says what is done with this block (\`\`\`${lang}):\n${text}`);
  // The shell of macOS takes no comments in commands that are pasted.
  if (language === 'sh' && /(^|\s)#\s/m.test(text))
    throw new Error(`${page}: a comment within commands:\n${text}`);
  return { text, language, use };
}

/**
 * The blocks of a page in order, those within lists included. Throws an Error for one that is neither run,
 * compared nor excepted.
 */
export function readBlocks(page: string, markdown = readFileSync(page, 'utf8')): readonly Block[] {
  const codes: Tokens.Code[] = [];
  marked.walkTokens(marked.lexer(markdown), (token: Token) => {
    if (token.type === 'code' && (token as Tokens.Code).codeBlockStyle !== 'indented')
      codes.push(token as Tokens.Code);
  });
  const blocks = codes.map((code) => readBlock(page, code));
  blocks.forEach(({ use, text }, index) => {
    const before = blocks[index - 1]?.use;
    if (use === 'output' && before !== 'run' && before !== 'terminal')
      throw new Error(`${page}: no commands print this:\n${text}`);
    if (use === 'terminal' && blocks[index + 1]?.use !== 'output')
      throw new Error(`${page}: nothing shows what this prints:\n${text}`);
  });
  return blocks;
}
