// Builds what draws the portal's pages into one module with all its packages: the service loads it and needs none
// of them. Their licences are next to it.
import { defineConfig } from 'vite';

export default defineConfig({
  ssr: { noExternal: true, target: 'node' },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    ssr: 'src/render.tsx',
    outDir: 'dist',
    emptyOutDir: true,
    target: 'node20',
    license: { fileName: 'licences.md' },
    reportCompressedSize: false,
  },
});
