/** Whether a text says this, and not as part of a longer number or word. */
export function says(text: string, part: string): boolean {
  const at = text.indexOf(part);
  if (at < 0) return false;
  const after = text.slice(at + part.length);
  const isInside = /[\p{L}\d]$/u.test(text.slice(0, at)) || /^(?:[\p{L}\d]|\.\d)/u.test(after);
  return !isInside || says(text.slice(at + 1), part);
}
