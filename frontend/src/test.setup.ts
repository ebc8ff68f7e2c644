/** Fresh modules for each test file, and stubs for browser APIs that Mantine uses and jsdom lacks. Pure tests have no DOM. */
import { afterEach, vi } from 'vitest';

// Test files share one process. Modules that were loaded with the mocks of one file must not be used by the next.
vi.resetModules();

if (typeof window !== 'undefined') {
  const { cleanup, configure } = await import('@testing-library/react');
  configure({ asyncUtilTimeout: 60_000 });
  afterEach(cleanup);
  window.matchMedia = (query) =>
    ({
      matches: false,
      media: query,
      addEventListener: () => undefined,
      removeEventListener: () => undefined,
    }) as unknown as MediaQueryList;
  window.ResizeObserver = class {
    observe() {}
    unobserve() {}
    disconnect() {}
  };
  window.HTMLElement.prototype.scrollIntoView = () => undefined;
  Object.defineProperty(document, 'fonts', { value: new EventTarget(), configurable: true });
}
