/** Runs in a work thread. */
export { verifyValues } from './verify-values.ts';
