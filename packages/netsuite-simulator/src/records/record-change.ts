import type { PoolClient } from 'pg';
import type { RestRecordType } from './record-types.ts';

/** The context of a write. `now` is business time, to the second; `replaces` are the sublists to be replaced. */
export type RecordChange = { client: PoolClient; type: RestRecordType; id: string; now: Date; replaces: ReadonlySet<string> };
