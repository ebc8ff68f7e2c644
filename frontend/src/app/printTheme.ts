/** Use of the light theme on paper, because browsers do not print dark backgrounds. */

const SCHEME = 'data-mantine-color-scheme';

/** Switch to the light theme while the browser prints. */
export function printInLightTheme(): void {
  const root = document.documentElement;
  let shown: string | null = null;
  window.addEventListener('beforeprint', () => {
    shown = root.getAttribute(SCHEME);
    root.setAttribute(SCHEME, 'light');
  });
  window.addEventListener('afterprint', () => {
    if (shown) root.setAttribute(SCHEME, shown);
  });
}
