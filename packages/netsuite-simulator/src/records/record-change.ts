import type { PoolClient } from 'pg';
import type { RestRecordType } from './record-type.ts';

/**
 * The context of a write. `now` is business time, to the second; `replaces` are the sublists to be replaced;
 * `posts`: the account has a profile, so what is written is posted.
 */
export type RecordChange = {
  client: PoolClient;
  type: RestRecordType;
  id: string;
  now: Date;
  replaces: ReadonlySet<string>;
  posts: boolean;
};
