import { render } from 'preact';
import '../../shared/tokens.css';
import './styles/page.css';
import './styles/parts.css';
import { App } from './app.tsx';
import { path, startRouter } from './router.ts';
import { findScreen } from './screens.ts';

const root = document.getElementById('console');
if (root === null) throw new Error('The page has no element for the console.');
startRouter();
// While the session is read. Where it fails, the screen tries again and says so.
findScreen(path.peek())
  ?.screen.load()
  .catch(() => undefined);
render(<App />, root);
addEventListener('pageshow', ({ persisted }) => {
  if (!persisted) return;
  // The way back led to this page as it was left, perhaps by signing out.
  root.hidden = true;
  location.reload();
});
