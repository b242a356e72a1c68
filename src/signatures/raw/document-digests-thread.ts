/** Runs in a work thread. */
export { digestsOf } from './document-digests.ts';
