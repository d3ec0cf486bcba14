import { api } from '../api.ts';
import { readPages } from '../query.ts';

async function readPage(page: number) {
  const { data } = await api.GET('/whoami/organizations', { params: { query: { page, pageSize: 100 } } });
  if (data === undefined) throw new Error('The list has no body');
  return data;
}

/** All organizations of the person, newest first. Rejects with an ApiError. */
export const readOrganizations = async () => (await readPages(readPage)).flatMap(({ data }) => data);
