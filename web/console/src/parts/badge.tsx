import { sentenceCase } from '../format.ts';

export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'calm';

/** A state in a word, shown by its colour and by the word. */
export const Badge = ({ tone = 'calm', children }: { tone?: Tone; children: string }) => (
  <span class={`badge ${tone}`}>{sentenceCase(children)}</span>
);
