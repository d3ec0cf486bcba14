// Pages that the company wrote, and views that it shows: of the visitor's records alone, like all else.
import { AppError } from '../../core/errors.ts';
import { isId } from '../../core/id.ts';
import {
  findSharedView,
  type PageBlock,
  readPublishedBlocks,
  readViewForVisitor,
} from '../../platform/index.ts';
import { toSafeHtml } from '../markdown.ts';
import { nameType } from '../navigation.ts';
import { listAddress, readTable, recordAddress } from '../record-table.ts';
import {
  type FieldType,
  findShown,
  isNumeric,
  listShownFields,
  type RecordRow,
  type ShownField,
  toValue,
} from '../shown-fields.ts';
import type { Block, ConfiguredPage, Label, Table } from '../view-model.ts';
import { notFoundHere, type Visit } from '../visit.ts';

type ViewTable = NonNullable<Awaited<ReturnType<typeof readViewForVisitor>>>;
type SharedView = NonNullable<Awaited<ReturnType<typeof findSharedView>>>;

const labelOf = (shown: readonly ShownField[], { source, label }: ViewTable['columns'][number]): Label =>
  source === null ? { role: 'other' } : (shown.find((field) => field.source === source)?.label ?? label);

function toTable(visit: Visit, { record_type: recordType }: SharedView, found: ViewTable): Table {
  const shown = listShownFields(visit, recordType);
  const types = new Map(
    found.columns.map(({ name, type, amount }): [string, FieldType] => [
      name,
      { type: type ?? 'text', ...(amount !== null && { currency: amount.currency }) },
    ]),
  );
  const reading = { types, today: visit.today, currency: undefined, amountDue: undefined };
  const fields = found.columns.map((column): ShownField => {
    const known = shown.find((field) => field.source === column.source);
    const [source, meaning] = [column.source ?? '', found.unit === 'record' ? known?.meaning : undefined];
    return {
      source,
      name: column.name,
      label: labelOf(shown, column),
      meaning,
      format: known?.format ?? null,
    };
  });
  return {
    columns: fields.map((field) => ({
      label: field.label,
      meaning: field.meaning,
      numeric: isNumeric(field, reading),
      sort: null,
    })),
    rows: (found.records as readonly RecordRow[]).map((row) => ({
      href: found.unit === 'record' ? recordAddress(visit, recordType, String(row.id)) : null,
      cells: fields.map((field) => toValue(field, row, reading)),
    })),
  };
}

type Part = { readonly page: number; readonly pageSize: number };

/** Undefined for a view that shows this visitor nothing that may be seen. */
async function readView(visit: Visit, id: string, page: Part) {
  const view = isId(id) ? await findSharedView(visit.ctx, id) : undefined;
  if (view === undefined) return undefined;
  if (findShown(visit, view.record_type) !== undefined) visit.readTypes.add(view.record_type);
  const visible = new Set(listShownFields(visit, view.record_type).map(({ source }) => source));
  const found = await readViewForVisitor(visit.ctx, view, { reads: visit.reads, visible, page });
  return found && { view, table: toTable(visit, view, found), total: found.total };
}

type TableBlock = Extract<PageBlock, { readonly type: 'view' | 'record-list' }>;

async function readTableBlock(visit: Visit, block: TableBlock): Promise<Block | undefined> {
  const { pageSize } = block;
  if (block.type === 'view') {
    const found = await readView(visit, block.viewId, { page: 1, pageSize });
    if (found === undefined) return undefined;
    const { view, table, total } = found;
    const all = total > table.rows.length ? `${visit.site.base}/views/${view.id}` : null;
    return { type: 'table', title: block.title ?? view.name, table, total, all };
  }
  const { recordType } = block;
  if (findShown(visit, recordType) === undefined) return undefined;
  const { table, total } = await readTable(visit, { recordType, query: { pageSize: String(pageSize) } });
  const title = block.title ?? nameType(visit, recordType);
  return { type: 'table', title, table, total, all: listAddress(visit, recordType) };
}

/** A block whose records can't be read at the moment doesn't take the page with it. */
async function readBlock(visit: Visit, block: PageBlock): Promise<Block | undefined> {
  if (block.type === 'heading' || block.type === 'link' || block.type === 'image') return block;
  if (block.type === 'text') return { type: 'html', html: toSafeHtml(block.markdown).html };
  try {
    return await readTableBlock(visit, block);
  } catch (error) {
    if (error instanceof AppError && error.status === 503) return { type: 'unavailable', title: block.title };
    throw error;
  }
}

const originOf = (address: string): string | undefined => URL.parse(address)?.origin;

/** `pictures`: the origins of those that the page names. Throws 404 for a page that isn't published. */
export async function readConfiguredPage(
  visit: Visit,
  slug: string,
): Promise<{ page: ConfiguredPage; pictures: readonly string[] }> {
  const found = visit.content.pages.find((page) => page.slug === slug);
  const configured = found && (await readPublishedBlocks(visit.ctx, found.id));
  if (found === undefined || configured === undefined) throw notFoundHere();
  const blocks = await Promise.all(configured.map((block) => readBlock(visit, block)));
  const pictures = configured.flatMap((block) => {
    if (block.type === 'image') return [block.url];
    return block.type === 'text' ? toSafeHtml(block.markdown).pictures : [];
  });
  return {
    page: { kind: 'page', title: found.title, blocks: blocks.filter((block) => block !== undefined) },
    pictures: [...new Set(pictures.flatMap((address) => originOf(address) ?? []))],
  };
}

const viewPageSize = 100;

/** A view on a page of its own. Throws 404 for one that not everyone may see, or that shows nothing to visitors. */
export async function readViewPage(visit: Visit, id: string): Promise<ConfiguredPage> {
  const found = await readView(visit, id, { page: 1, pageSize: viewPageSize });
  if (found === undefined) throw notFoundHere();
  const { view, table, total } = found;
  return {
    kind: 'page',
    title: view.name,
    blocks: [{ type: 'table', title: null, table, total, all: null }],
  };
}
