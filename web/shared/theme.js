// The theme of all pages in this browser: light, dark, or that of the system. A classic script of its own, so
// that a page is not painted in the wrong theme first. It works with the page's `#theme` select, which may
// appear later. The chosen theme is the only thing that it keeps in storage; following the system stores
// nothing.
(() => {
  // The name of the pages that had it first.
  const storageKey = 'reference-theme';
  const root = document.documentElement;

  const apply = (theme) => {
    if (theme === 'light' || theme === 'dark') root.dataset.theme = theme;
    else delete root.dataset.theme;
  };
  const showChosen = () => {
    const select = document.getElementById('theme');
    if (select !== null) select.value = root.dataset.theme ?? 'system';
  };

  try {
    apply(localStorage.getItem(storageKey));
  } catch {
    // Without storage the theme is that of the system.
  }
  showChosen();
  addEventListener('DOMContentLoaded', showChosen);
  addEventListener('change', ({ target }) => {
    if (target.id !== 'theme') return;
    apply(target.value);
    try {
      if (root.dataset.theme === undefined) localStorage.removeItem(storageKey);
      else localStorage.setItem(storageKey, root.dataset.theme);
    } catch {
      // Without storage the choice lasts as long as the page.
    }
  });
})();
