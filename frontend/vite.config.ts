/** Build, development server (API proxied to the local console) and unit tests. */
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

/** The API's documentation page is the console's own; its scripts come with the build, so that it works offline. */
function apiDocumentation(): Plugin {
  const resolve = createRequire(import.meta.url).resolve;
  return {
    name: 'api-documentation',
    apply: 'build',
    generateBundle() {
      for (const name of ['swagger-ui-bundle.js', 'swagger-ui.css']) {
        const source = readFileSync(resolve(`swagger-ui-dist/${name}`));
        this.emitFile({ type: 'asset', fileName: `docs-assets/${name}`, source });
      }
    },
  };
}

const atOnce = new Set<string>();

/** Finds what the first page needs, so that it comes in two files and not in thirty. */
function firstPage(): Plugin {
  return {
    name: 'first-page',
    apply: 'build',
    buildEnd() {
      const needed = [...this.getModuleIds()].filter((id) => this.getModuleInfo(id)?.isEntry);
      for (const id of needed) {
        if (atOnce.has(id)) continue;
        atOnce.add(id);
        needed.push(...(this.getModuleInfo(id)?.importedIds ?? []));
      }
    },
  };
}

const isInstalled = (id: string) => id.includes('/node_modules/');

const SOURCE = fileURLToPath(new URL('./src', import.meta.url));
const TESTS = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.test\.tsx?$/.test(path))
  .map((path) => ({ path: `src/${path}`, source: readFileSync(`${SOURCE}/${path}`, 'utf8') }));

/** Tests that replace a module would replace it for other tests, too, so each of them loads its modules itself. */
const isMocking = (source: string) => source.includes('vi.mock(');

/** Tests that need a DOM start with the line `// @dom`. */
const needsDom = (source: string) => source.startsWith('// @dom\n');

const testFiles = (isIncluded: (source: string) => boolean) =>
  TESTS.filter(({ source }) => isIncluded(source)).map(({ path }) => path);

export default defineConfig({
  plugins: [react(), apiDocumentation(), firstPage()],
  resolve: { alias: { '@': SOURCE } },
  // Never inline assets: the console's content security policy allows no data: fonts or scripts.
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 800,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'installed', test: (id: string) => atOnce.has(id) && isInstalled(id) },
            { name: 'page', test: (id: string) => atOnce.has(id) && !isInstalled(id) },
          ],
        },
      },
    },
  },
  server: {
    port: 5173,
    proxy: { '/v1': 'http://127.0.0.1:8080', '/v2': 'http://127.0.0.1:8080' },
  },
  test: {
    unstubGlobals: true,
    restoreMocks: true,
    setupFiles: ['src/test.setup.ts'],
    // A passing test never takes this long, however busy the machine is.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // Loading modules and making a DOM take ten times as long as the tests, and each worker does both.
    maxWorkers: 1,
    projects: [
      {
        extends: true,
        test: {
          name: 'pure',
          isolate: false,
          include: testFiles((source) => !needsDom(source) && !isMocking(source)),
        },
      },
      {
        extends: true,
        test: {
          name: 'dom',
          isolate: false,
          environment: './src/test.environment.ts',
          include: testFiles((source) => needsDom(source) && !isMocking(source)),
        },
      },
      {
        extends: true,
        test: {
          name: 'mocking',
          environment: './src/test.environment.ts',
          include: testFiles(isMocking),
        },
      },
    ],
  },
});
