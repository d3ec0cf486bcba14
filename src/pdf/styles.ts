// Sizes, spaces and colours of the layout. Lengths are points; y grows downwards.
import type { Style } from './lines.ts';

const ink = '#1a1f29';
const muted = '#5b6472';
export const hairline = '#e2e6ec';
export const darkRule = '#aab2bf';

/** A4. The left edge leaves the address in the window of an envelope. */
export const paper = {
  width: 595.28,
  height: 841.89,
  left: 54,
  right: 541.28,
  top: 50,
  bottom: 770,
  footer: 800,
} as const;
export const contentWidth = paper.right - paper.left;
/** Where the customer's address begins at the earliest. */
export const addressTop = 138;

const style = (size: number, color = ink, weight: Style['weight'] = 'regular'): Style => ({
  size,
  weight,
  color,
});
export const styles = {
  name: style(15, ink, 'strong'),
  from: style(8.5, muted),
  recipient: style(10, ink, 'strong'),
  to: style(10),
  title: style(21, ink, 'strong'),
  factLabel: style(7.5, muted),
  fact: style(9.5),
  tableTitle: style(11, ink, 'strong'),
  total: style(9, muted),
  totalValue: style(9),
  strongTotal: style(11, ink, 'strong'),
  note: style(8.5, muted),
  footer: style(7.5, muted),
} as const;
/** Of a table whose cells have this size. */
export const cellStyle = (size: number): Style => style(size);
export const headStyle = (size: number): Style => style(size * 0.85, muted, 'strong');

export const lineHeight = ({ size }: Style): number => size * 1.4;
