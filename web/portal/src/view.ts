// What every component needs: the frame of the page and the texts of its language, by context.
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Frame } from '../../../src/portal/view-model.ts';
import type { Texts } from './texts.ts';

export type View = Texts & { readonly frame: Frame };

export const ViewContext = createContext<View | undefined>(undefined);

/** Throws outside of a page. */
export function useView(): View {
  const view = useContext(ViewContext);
  if (view === undefined) throw new Error('A component of the portal was drawn outside of a page');
  return view;
}
