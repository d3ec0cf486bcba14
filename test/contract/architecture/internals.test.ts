// Two things that would be hard to find: where the insides of a library are used, and state that a module
// keeps for itself.
import { describe, expect, it } from 'vitest';
import { offending, programs, type Source, src } from './sources.ts';

const outside = (...folders: readonly string[]): Source[] =>
  src.filter(({ file }) => !folders.some((folder) => file.startsWith(folder)));

describe('the insides of libraries', () => {
  // Each adapter folder has a test that fails when a new version of its library changes what the folder
  // relies on.
  it.each([
    ['pg', 'src/db/driver/', /\bprocessID\b|\bsubmit\(|\bhandleDataRow\b|\bconnection\.stream\b/],
    ['knex', 'src/db/driver/', /\bclient\.pool\b|\b(acquire|release|destroy)(Raw)?Connection\b/],
    [
      'messages of pg and knex',
      'src/db/driver/',
      /Connection terminated|not queryable|timeout expired|Timeout acquiring|timeout exceeded/,
    ],
    ['Express', 'src/http/driver/', /\bexpress\.(request|response|application)\b|\bsetPrototypeOf\(/],
    ['Node.js', 'src/http/driver/', /\bdestroySoon\b|\bshouldKeepAlive\b|\b_(header|events|handle|server)\b/],
    ['PDFKit', 'src/pdf/driver/', /\b_font\b/],
    ['LiquidJS', 'src/templates/liquid/', /\brenderTemplates\b|\bmemoryLimit\b|\bLiquidErrors\b|'liquidjs'/],
  ])('of %s are used in %s only', (_what, folder, inside) => {
    expect(offending(outside(folder), inside)).toEqual([]);
    expect(offending(src, inside)).not.toEqual([]);
  });

  it('are not imported by their files', () => {
    const deep = /^(pg|pg-pool|pg-protocol|knex|tarn|express|liquidjs|pdfkit|svg-to-pdfkit)\//;
    expect(
      programs.flatMap(({ file, imports }) =>
        imports.filter(({ target }) => deep.test(target)).map(() => file),
      ),
    ).toEqual([]);
  });

  it('need a cast that nothing else needs', () => {
    expect(offending(programs, /\bas unknown as\b/)).toEqual([
      'src/db/driver/pg-client.ts',
      'src/templates/liquid/filters.ts',
    ]);
  });
});

describe('modules', () => {
  it('keep no state: what belongs to a service is opened in app.ts or service.ts and handed in', () => {
    expect(
      offending(src, /^(?:export )?(?:let \w|const \w+[^=\n]*= new (?:Weak\w+|(?:Map|Set)<.*>\(\)))/m),
    ).toEqual([
      'src/core/log.ts', // the standard output of the process
      'src/db/embedded/folders.ts', // the folders that this process is building
      'src/platform/index.ts', // the description of the routes, by the URL of the service
      // Derived from an immutable value, and collected with it.
      'src/public/read/plan/order-index.ts',
      'src/public/read/plan/ranges.ts',
      'src/public/read/sql/list-sql.ts',
      'src/public/version/narrow.ts',
      'src/warehouse/encode.ts',
    ]);
  });
});
