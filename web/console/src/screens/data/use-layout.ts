// How a person has arranged the columns of a list: their widths, and those that stay at the left edge. Kept in
// this browser.
import { useState } from 'preact/hooks';
import { keep, readKept } from '../../kept.ts';
import { type RecordRow, showNumber } from '../../parts/read-records.tsx';
import type { ValueType } from './endpoint.ts';

export type Layout = {
  readonly widths: Readonly<Record<string, number>>;
  readonly pinned: readonly string[];
};

export const [minWidth, maxWidth] = [48, 960];
export const clampWidth = (width: number): number =>
  Math.round(Math.min(maxWidth, Math.max(minWidth, width)));

const none: Layout = { widths: {}, pinned: [] };

/** `name` is that of the list. */
export function useLayout(name: string) {
  const key = `columns of ${name}`;
  const [layout, setLayout] = useState<Layout>(() => readKept<Layout>(key, 'localStorage') ?? none);
  const change = (next: Layout): void => {
    keep(key, next, 'localStorage');
    setLayout(next);
  };
  return {
    layout,
    setWidth: (column: string, width: number): void =>
      change({ ...layout, widths: { ...layout.widths, [column]: clampWidth(width) } }),
    setPinned: (pinned: readonly string[]): void => change({ ...layout, pinned }),
  };
}

const [pxPerCharacter, pxAround] = [9.2, 30];
const [minCharacters, maxCharacters] = [4, 30];
/** Of a time as it is shown. */
const timeCharacters = 22;

/** A width in px that fits the title and the values of these rows. */
export function estimateWidth(
  title: string,
  values: readonly RecordRow[string][],
  type: ValueType | undefined,
): number {
  const lengths = values.map((value) => {
    if (typeof value !== 'string') return minCharacters;
    return type === 'time' ? timeCharacters : type === 'number' ? showNumber(value).length : value.length;
  });
  const characters = Math.max(minCharacters, title.length + 2, ...lengths);
  return Math.round(Math.min(characters, maxCharacters) * pxPerCharacter + pxAround);
}
