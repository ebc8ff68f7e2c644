/** Light theme and complete content on paper, because browsers do not print dark backgrounds and cannot scroll paper. */
import { flushSync } from 'react-dom';
import { printing } from '@/lib/printing';

const SCHEME = 'data-mantine-color-scheme';

/** While the browser prints, use the light theme and render all content. */
export function preparePrinting(): void {
  const root = document.documentElement;
  let shown: string | null = null;
  window.addEventListener('beforeprint', () => {
    shown = root.getAttribute(SCHEME);
    root.setAttribute(SCHEME, 'light');
    // The browser prints when this listener returns.
    flushSync(() => printing.set(true));
  });
  window.addEventListener('afterprint', () => {
    if (shown) root.setAttribute(SCHEME, shown);
    printing.set(false);
  });
}
