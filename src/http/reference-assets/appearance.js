// The switch between light and dark. A classic script in the head, so that the page is never painted in the wrong one first. What is
// chosen is the only thing that these pages keep in storage; following the system keeps nothing.
(() => {
  const storageKey = 'reference-theme';
  const themes = ['light', 'dark'];
  const root = document.documentElement;

  const stored = () => {
    try {
      return localStorage.getItem(storageKey);
    } catch {
      return null;
    }
  };
  const store = (theme) => {
    try {
      if (themes.includes(theme)) localStorage.setItem(storageKey, theme);
      else localStorage.removeItem(storageKey);
    } catch {
      // Without storage the choice lasts as long as the page.
    }
  };
  const apply = (theme) => {
    if (themes.includes(theme)) root.dataset.theme = theme;
    else delete root.dataset.theme;
  };

  const initial = stored();
  apply(initial);
  addEventListener('DOMContentLoaded', () => {
    const select = document.getElementById('theme');
    select.value = themes.includes(initial) ? initial : 'system';
    select.addEventListener('change', () => {
      apply(select.value);
      store(select.value);
    });
  });
})();
