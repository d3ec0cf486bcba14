// Which links a Markdown text may have: http, https, mailto, and addresses without a scheme. Renderers
// differ, so this is strict: what any of them could take for a link elsewhere is forbidden, also in code.

/** What comes before the destination of an inline link or image, of a link definition, and of an autolink. */
const starts =
  /(?<inline>\]\(\s*<?[\s\p{C}]*)|^[ \t>*+\d.)-]*\[(?:\\[\s\S]|[^[\]\\])+\]:\s*<?|<(?=[a-z][a-z0-9+.-]{1,31}:[^\s<>]*>)/gimu;
/** A scheme ends before these. Some renderers allow white space in an inline link; browsers drop it. */
const [inlineEnd, end] = [/[)>/?#([\]]/, /[\s)>/?#([\]]/];
/** The marks of a quotation: a link may go on in its next line, after them. */
const quoteMarks = /^(?:[ \t]*>)+/gm;
/** Longer than any scheme. */
const maxHead = 300;

/** Escapes and entities could hide the colon of a scheme. */
const isAllowed = (head: string): boolean => /^(?:https?|mailto):/i.test(head) || !/[:&\\\p{C}]/u.test(head);

const hasLinkElsewhere = (markdown: string): boolean =>
  [...markdown.matchAll(starts)].some(({ 0: start, index, groups }) => {
    const from = index + start.length;
    const [head = ''] = markdown
      .slice(from, from + maxHead)
      .split(groups?.['inline'] === undefined ? end : inlineEnd, 1);
    return !isAllowed(head);
  });

export function hasForbiddenLink(markdown: string): boolean {
  const unquoted = markdown.replaceAll(quoteMarks, '');
  return hasLinkElsewhere(markdown) || (unquoted !== markdown && hasLinkElsewhere(unquoted));
}

/** All Markdown in the text escaped: it is shown as it was written, without links. */
export const escapeMarkdown = (markdown: string): string => markdown.replaceAll(/[!-/:-@[-`{-~]/g, '\\$&');
