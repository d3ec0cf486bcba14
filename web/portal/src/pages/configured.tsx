// A page of the organization's own blocks: headings, texts, links, pictures and tables of records.
import type { ComponentChildren } from 'preact';
import type { Block, ConfiguredPage, Label } from '../../../../src/portal/view-model.ts';
import { safeAddress } from '../addresses.ts';
import { Empty } from '../parts/card.tsx';
import { TableView } from '../parts/table.tsx';
import { Title } from '../parts/title.tsx';
import { useView } from '../view.ts';

/** The page's own title is the only one of the first level. */
const Heading = ({ level, text }: { level: number; text: string }) => {
  if (level <= 1) return <h2 class="large">{text}</h2>;
  return level === 2 ? <h3 class="middle">{text}</h3> : <h4>{text}</h4>;
};

const BlockCard = ({ title, children }: { title: Label | null; children: ComponentChildren }) => {
  const view = useView();
  return (
    <section class="card">
      {title !== null && (
        <div class="card-head">
          <h2>{view.label(title)}</h2>
        </div>
      )}
      {children}
    </section>
  );
};

const TableBlock = ({ block }: { block: Extract<Block, { type: 'table' }> }) => {
  const view = useView();
  const { title, table, total, all } = block;
  const name = title === null ? view.text('role.other') : view.label(title);
  if (table.rows.length === 0)
    return (
      <BlockCard title={title}>
        <Empty text={view.text('list.none')} />
      </BlockCard>
    );
  return (
    <BlockCard title={title}>
      <TableView table={table} caption={name} />
      {total > table.rows.length && (
        <p class="card-foot">
          {all === null ? (
            view.text('list.count', { total })
          ) : (
            <a class="more" href={all}>
              {view.text('home.allOpen', { total })}
            </a>
          )}
        </p>
      )}
    </BlockCard>
  );
};

const BlockView = ({ block }: { block: Block }) => {
  const view = useView();
  switch (block.type) {
    case 'heading':
      return <Heading level={block.level} text={block.text} />;
    case 'html':
      // Made from Markdown by the service, and safe: the only HTML that is inserted as it is.
      return <div class="prose" dangerouslySetInnerHTML={{ __html: block.html }} />;
    case 'link': {
      const address = safeAddress(block.url);
      return address === undefined ? (
        <p>{block.label}</p>
      ) : (
        <p>
          <a class="button" href={address} rel="noopener noreferrer">
            {block.label}
          </a>
        </p>
      );
    }
    case 'image':
      return <img class="picture" src={safeAddress(block.url)} alt={block.alt} loading="lazy" />;
    case 'table':
      return <TableBlock block={block} />;
    case 'unavailable':
      return (
        <BlockCard title={block.title}>
          <Empty text={view.text('page.unavailable')} />
        </BlockCard>
      );
  }
};

export const Configured = ({ page: { title, blocks } }: { page: ConfiguredPage }) => {
  const view = useView();
  return (
    <>
      <Title text={title} />
      {blocks.length === 0 ? (
        <div class="card">
          <Empty text={view.text('page.empty')} />
        </div>
      ) : (
        <div class="blocks">
          {blocks.map((block, at) => (
            <BlockView key={at} block={block} />
          ))}
        </div>
      )}
    </>
  );
};
