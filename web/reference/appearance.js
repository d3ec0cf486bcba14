// The switch between the light and the dark theme. A script of its own, so that the page is rarely painted in the wrong theme first and
// never waits for it. The chosen theme is the only thing that these pages keep in storage; following the system stores nothing.
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
  const wire = () => {
    const select = document.getElementById('theme');
    select.value = themes.includes(initial) ? initial : 'system';
    select.addEventListener('change', () => {
      apply(select.value);
      store(select.value);
    });
  };
  if (document.getElementById('theme') === null) addEventListener('DOMContentLoaded', wire);
  else wire();
})();
