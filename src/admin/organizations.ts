// Lists the organizations with the size of their data.
import { z } from 'zod';
import { defineCommand } from './command.ts';
import { formatBytes, textTable } from './text-table.ts';

type Row = {
  id: string;
  slug: string;
  name: string;
  created_at: Date;
  deleting_since: Date | null;
  members: number;
  keys: number;
  syncs: number;
  bytes: string | null;
  records: string | null;
  measured_at: Date | null;
};

export const organizationsCommand = defineCommand({
  name: 'organizations',
  summary: 'Lists the organizations with the size of their data.',
  about: 'Records and size of the warehouse are those of the last measurement, or - before the first one.',
  input: z.strictObject({}),
  async run({ owner }) {
    const { rows } = await owner.raw<{ rows: Row[] }>(
      `select o.id, o.slug, o.name, o.created_at, o.deleting_since, w.bytes, w.records, w.measured_at,
              (select count(*)::int from memberships m where m.organization_id = o.id) as members,
              (select count(*)::int from api_keys k where k.organization_id = o.id and k.revoked_at is null and (least(k.expires_at, k.secret_ends_at) <= now()) is not true) as keys,
              (select count(*)::int from sync_configs c where c.organization_id = o.id) as syncs
       from organizations o left join warehouse_sizes w on w.organization_id = o.id order by o.created_at, o.id`,
    );
    const listed = rows.map((row) => ({
      id: row.id,
      slug: row.slug,
      name: row.name,
      createdAt: row.created_at,
      deletingSince: row.deleting_since,
      members: row.members,
      keys: row.keys,
      syncs: row.syncs,
      records: row.records === null ? null : Number(row.records),
      bytes: row.bytes === null ? null : Number(row.bytes),
      measuredAt: row.measured_at,
    }));
    const lines = listed.map(({ id, slug, name, members, keys, syncs, records, bytes, deletingSince }) => ({
      organization: slug,
      id,
      name,
      members,
      keys,
      syncs,
      records,
      warehouse: bytes === null ? null : formatBytes(bytes),
      state: deletingSince === null ? 'live' : 'being deleted',
    }));
    return { json: listed, text: lines.length === 0 ? 'There are no organizations.' : textTable(lines) };
  },
});
