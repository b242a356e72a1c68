import type { TestProject } from 'vitest/node';
import { quickstartEnvironment } from './quickstart-environment.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Directory of the quickstart that the whole run shares. */
    quickstartDirectory: string;
  }
}

/** One running service for all test files that speak HTTP. */
export default function setup(project: TestProject): () => void {
  const environment = quickstartEnvironment();
  environment.start();
  project.provide('quickstartDirectory', environment.directory);
  return () => {
    environment.remove();
  };
}
