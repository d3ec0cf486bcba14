import { render } from 'preact';
import '../../shared/tokens.css';
import './styles/page.css';
import './styles/parts.css';
import { App } from './app.tsx';
import { startRouter } from './router.ts';

const root = document.getElementById('console');
if (root === null) throw new Error('The page has no element for the console.');
startRouter();
render(<App />, root);
addEventListener('pageshow', ({ persisted }) => {
  if (!persisted) return;
  // The way back led to this page as it was left, perhaps by signing out.
  root.hidden = true;
  location.reload();
});
