/** Share one jsdom between all test files. Creating one takes a second, ten times as long as most of these files. */
import { builtinEnvironments, type Environment } from 'vitest/runtime';

const shared = globalThis as { sharedDom?: unknown };

export default {
  name: 'shared-jsdom',
  viteEnvironment: 'client',
  async setup(global, options) {
    shared.sharedDom ??= builtinEnvironments.jsdom.setup(global, options);
    await shared.sharedDom;
    return { teardown: () => undefined };
  },
} satisfies Environment;
