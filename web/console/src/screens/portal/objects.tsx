// What lists of the portal share: reading what a form offers, saving one object, and deleting one.
import type { ComponentChildren } from 'preact';
import { api } from '../../api.ts';
import { DeleteButton } from '../../parts/detail.tsx';
import { invalidate } from '../../query.ts';
import { base, go } from '../../router.ts';

/** The query of the first hundred entries of a list. */
export const first100 = <Filters extends object>(filters?: Filters) => ({
  query: { ...filters, pageSize: 100 } as Filters & { pageSize: number },
});

type ScreenList = '/views' | '/subscriptions' | '/agents' | '/portal/pages';
/** Lists in a tab have no screens of their objects. */
type TabList = '/portal/templates' | '/portal/field-mappings';

const toScreen = (list: ScreenList): string => list.replace('/portal', '');
const hasScreens = (list: ScreenList | TabList): list is ScreenList =>
  list !== '/portal/templates' && list !== '/portal/field-mappings';

/** Creates an object and shows its screen, or changes the one with this id. */
export async function saveObject(
  list: ScreenList,
  id: string | undefined,
  body: object,
  close?: () => void,
): Promise<void> {
  const { data } =
    id === undefined
      ? await api.POST(list, { body: body as never })
      : await api.PATCH(`${list}/{id}`, { params: { path: { id } }, body: body as never });
  await invalidate(list);
  close?.();
  if (id === undefined) go(`${base}${toScreen(list)}/${data?.id}`);
}

type RemoveButtonProps = {
  list: ScreenList | TabList;
  id: string;
  what: string;
  name: string;
  children: ComponentChildren;
};

/** Deletes one object of a list, and shows the list. `children` say what will happen. */
export const RemoveButton = ({ list, id, ...props }: RemoveButtonProps) => (
  <DeleteButton
    {...props}
    {...(hasScreens(list) && { to: toScreen(list) })}
    run={() =>
      api
        .DELETE(`${list}/{id}`, { params: { path: { id } } })
        .then(() => invalidate(`${list} `, '/subscriptions '))
    }
  />
);
