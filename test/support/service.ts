import type { TestProject } from 'vitest/node';
import { quickstartEnvironment } from './quickstart-environment.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Directory of the quickstart that the whole run shares. */
    quickstartDirectory: string;
  }
}

const environment = quickstartEnvironment();

/** One running service for all test files that speak HTTP. */
export function setup(project: TestProject): void {
  environment.start();
  project.provide('quickstartDirectory', environment.directory);
}

export function teardown(): void {
  environment.remove();
}
