/** Entry point: renders the web UI. */
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from '@/app/App';
import { preparePrinting } from '@/app/preparePrinting';
import '@/app/theme.css';
import '@/app/mantine.css';

const root = document.getElementById('root');
if (!root) throw new Error('index.html has no #root');
preparePrinting();
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
