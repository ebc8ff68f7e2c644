/** Build, development server (API proxied to the local console) and unit tests. */
import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) } },
  // Never inline assets: the console's content security policy allows no data: fonts or scripts.
  build: { target: 'es2022', assetsInlineLimit: 0, chunkSizeWarningLimit: 600 },
  server: {
    port: 5173,
    proxy: { '/v1': 'http://127.0.0.1:8080', '/v2': 'http://127.0.0.1:8080' },
  },
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
});
