// What tests say that need a program or a history that isn't everywhere: where it is missing they are
// reported as not run, which is neither passed nor failed.
const mark = 'not run: ';

/** The note with which a test skips itself: `context.skip(notRun(reason))`. */
export const notRun = (reason: string): string => `${mark}${reason}`;

/**
 * The reason in the name or the note of a skipped test; undefined for one that was skipped otherwise, which
 * counts as a failure.
 */
export const reasonNotRun = (nameOrNote: string): string | undefined =>
  new RegExp(`(?:^|\\()${mark}(.*?)(?:\\)|$)`).exec(nameOrNote)?.[1];
