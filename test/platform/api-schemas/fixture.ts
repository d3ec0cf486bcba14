// Drafts of versions and their publication, through the management interface.
import { expect } from 'vitest';
import { takeJob } from '../../../src/db/jobs.ts';
import { publicationJob } from '../../../src/platform/api-schemas/api-schemas.store.ts';
import { startPublicationWorker } from '../../../src/platform/api-schemas/publication.ts';
import type { Answer } from '../../setup/api.ts';
import type { OrganizationSite } from '../../setup/use-organization.ts';

export type Made = { readonly id: string; readonly version: string; readonly revision: number };

export function createVersionCalls(org: OrganizationSite) {
  const idle = () => org.ctx.work.waitUntilIdle('publications');
  const read = async (id: string) => (await org.api('get', `/api-schema/${id}`)).body;
  const draft = async (body: object): Promise<Made> => {
    const answer = await org.api('post', '/api-schema', body);
    expect(answer.status, answer.text).toBe(201);
    return answer.body;
  };
  const startPublishing = ({ id, revision }: Made, api = org.api): Promise<Answer> =>
    api('post', `/api-schema/${id}/publish`, { revision });
  const publish = async (made: Made, api = org.api): Promise<Answer> => {
    const answer = await startPublishing(made, api);
    await idle();
    return answer;
  };
  return {
    /** Waits until no publication is running. */
    idle,
    read,
    draft,
    startPublishing,
    /** Returns the first answer once no publication is running. */
    publish,
    /** A new version that has been published. */
    published: async (body: object): Promise<Made> => {
      const made = await draft(body);
      expect((await publish(made)).status).toBe(202);
      expect(await read(made.id)).toMatchObject({
        status: 'published',
        publication: { status: 'succeeded' },
      });
      return made;
    },
    /** As at a start of the service. */
    resume: async () => {
      const worker = startPublicationWorker(org.ctx);
      await worker.waitUntilIdle();
      await worker.stop();
    },
    /** Stores a publication in this status, as a process may have left it whose lease ends in `leaseMs`. */
    setPublication: async (id: string, status: string, leaseMs = -1_000) => {
      const publication = { status, progress: { step: status, done: 0, total: 1 }, problems: [] };
      await org
        .admin('api_schemas')
        .where({ id })
        .update({ publication: JSON.stringify(publication) });
      await org.sql((tx) => takeJob(tx, publicationJob(org.id, id), leaseMs));
    },
  };
}
