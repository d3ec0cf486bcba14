// The switch between light and dark. A script on its own, so that the page is seldom painted in the wrong one first, and never waits
// for it. What is chosen is the only thing that these pages keep in storage; following the system keeps nothing.
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
