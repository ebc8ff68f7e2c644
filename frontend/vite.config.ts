/** Build, development server (API proxied to the local console) and unit tests. */
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

/** Copy the scripts of the API documentation page into the build, so that the page works offline. */
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

const initialModules = new Set<string>();

/** Find the modules that the first page needs, so that they are bundled into two files instead of thirty. */
function firstPage(): Plugin {
  return {
    name: 'first-page',
    apply: 'build',
    buildEnd() {
      const needed = [...this.getModuleIds()].filter((id) => this.getModuleInfo(id)?.isEntry);
      for (const id of needed) {
        if (initialModules.has(id)) continue;
        initialModules.add(id);
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
            { name: 'installed', test: (id: string) => initialModules.has(id) && isInstalled(id) },
            { name: 'page', test: (id: string) => initialModules.has(id) && !isInstalled(id) },
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
    // A passing test never takes this long, even on a busy machine.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // Loading modules and creating a DOM take ten times as long as the tests, and each worker does both.
    maxWorkers: 1,
    isolate: false,
    // The icons are six thousand modules, which take seconds to load. The same package contains them as one CommonJS file.
    alias: { '@tabler/icons-react': createRequire(import.meta.url).resolve('@tabler/icons-react') },
    projects: [
      {
        extends: true,
        test: {
          name: 'pure',
          include: testFiles((source) => !needsDom(source)),
        },
      },
      {
        extends: true,
        test: {
          name: 'dom',
          environment: './src/test.environment.ts',
          include: testFiles(needsDom),
        },
      },
    ],
  },
});
