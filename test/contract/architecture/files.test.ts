// What files and functions look like: their size, their names, their exports.
import { describe, expect, it } from 'vitest';
import { everything, listFunctions, offending, programs, tools, web } from './sources.ts';

/** Without the folder of this file, which contains what it forbids. */
const exceptThese = everything.filter(({ file }) => !file.startsWith('test/contract/architecture/'));
/** What a developer reads. Migrations are history, each one a single text of SQL. */
const written = [...programs, ...tools, ...web];

describe('functions', () => {
  it('have at most 60 lines and 2,000 characters, comments included', () => {
    const long = written.flatMap((source) =>
      listFunctions(source)
        .filter(({ lines, characters }) => lines > 60 || characters > 2_000)
        .map(({ name }) => `${source.file} ${name === '' ? '(unnamed)' : name}`),
    );
    expect(long).toEqual([]);
  });
});

describe('files', () => {
  it('have at most 450 lines', () => {
    const long = written.filter(({ text }) => text.split('\n').length > 451).map(({ file }) => file);
    expect(long).toEqual([]);
  });

  it('are named for what they do', () => {
    const vague = /^(utils?|helpers?|common|misc|manager|base|impl)$/;
    expect(
      everything
        .filter(({ file }) => file.split(/[/.]/).some((part) => vague.test(part)))
        .map(({ file }) => file),
    ).toEqual([]);
  });

  it('are no barrels: an index is a public entry point or a table of contents', () => {
    expect(programs.filter(({ file }) => file.endsWith('/index.ts')).map(({ file }) => file)).toEqual([
      'src/admin/index.ts',
      'src/mail/index.ts',
      'src/pdf/index.ts',
      'src/platform/index.ts',
      'src/portal/index.ts',
      'src/public/index.ts',
      'src/sync/index.ts',
      'src/templates/index.ts',
      'src/webhooks/index.ts',
      'packages/client/src/index.ts',
      'packages/netsuite-simulator/src/index.ts',
      'packages/odata-simulator/src/index.ts',
    ]);
    expect(offending(programs, /export \* from/)).toEqual([]);
  });

  it('use named exports, and no any, enum or non-null assertion', () => {
    expect(offending(programs, /export default/)).toEqual([]);
    expect(offending(exceptThese, /:\s*any\b|<any\b|\bas any\b|\bany\[\]/)).toEqual([]);
    expect(offending(everything, /^\s*(export )?(const )?enum /m)).toEqual([]);
    expect(offending(programs, /[\w)\]]!(\.|;|,|\)|\[)/)).toEqual([]);
  });
});
