// Sets the colour scheme before the first paint. A file of its own because the
// content security policy forbids inline scripts. The key is Mantine's default.
(() => {
  let choice = 'auto';
  try {
    choice = localStorage.getItem('mantine-color-scheme-value') || 'auto';
  } catch {
    // Storage may be blocked; the system's choice is then used.
  }
  const dark =
    choice === 'dark' || (choice !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.setAttribute('data-mantine-color-scheme', dark ? 'dark' : 'light');
})();
