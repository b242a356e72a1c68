import { defineConfig } from 'vitest/config';
import { longTests, settings } from './vitest.config.ts';

/** The long tests alone. */
export default defineConfig({ test: { ...settings, include: [longTests] } });
