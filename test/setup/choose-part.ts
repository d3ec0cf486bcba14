const slice = process.env['SLICE_NUMBER'];

/** All of them; in continuous integration one in `parts`, chosen by the commit (slice.ts). */
export const choosePart = <T>(all: readonly T[], parts: number): readonly T[] =>
  slice === undefined ? all : all.filter((_each, index) => index % parts === Number(slice) % parts);
