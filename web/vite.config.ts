import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [svelte()],
  build: {
    outDir: "../src/rota/server/dashboard",
    emptyOutDir: true,
    // The policy of the page allows no data: addresses in scripts and styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2023",
  },
  server: { proxy: { "/v1": "http://127.0.0.1:8300" } },
  test: { include: ["test/**/*.test.ts"] },
});
