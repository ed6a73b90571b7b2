import { defineConfig } from '@playwright/test';
import suite from '../../../ui-tests/playwright.config';

/** The browser of the UI tests, with what is measured in place of what is tested. */
export default defineConfig(suite, {
  testDir: '.',
  testMatch: '*.bench.ts',
  outputDir: '../../../.build/benchmarks/browser',
  timeout: 240_000,
  use: { trace: 'off', screenshot: 'off' }
});
