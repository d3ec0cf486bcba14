import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';

type PageProps = {
  title: string;
  /** One sentence below the title. */
  lead?: ComponentChildren;
  /** Buttons and links that act on what the page shows. */
  actions?: ComponentChildren;
  /** The way back up: links to the pages above this one. */
  above?: readonly { readonly to: string; readonly title: string }[];
  children?: ComponentChildren;
};

/** A screen: sets the title of the window, and holds the only `h1`. */
export function Page({ title, lead, actions, above = [], children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Portal Service`;
  }, [title]);
  return (
    <>
      {above.length > 0 && (
        <nav class="above" aria-label="Breadcrumb">
          {above.map((link) => (
            <a key={link.to} href={link.to}>
              {link.title}
            </a>
          ))}
        </nav>
      )}
      <header class="page-head">
        <div>
          <h1>{title}</h1>
          {lead !== undefined && <p class="lead">{lead}</p>}
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  );
}

/** A titled part of a screen. */
export function Section({
  title,
  actions,
  children,
  id,
}: {
  title: string;
  actions?: ComponentChildren;
  children: ComponentChildren;
  id?: string;
}) {
  return (
    <section class="section" aria-label={title} id={id}>
      <header class="section-head">
        <h2>{title}</h2>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </section>
  );
}

/** In place of a list without entries: says what would be here, and the next step. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p>
        <strong>{title}</strong>
      </p>
      {children}
    </div>
  );
}
