/** Runs in a work thread. */
import { formatThread } from '../format-steps.ts';
import { rawFormat } from './raw.ts';

export const { prepare, complete } = formatThread(rawFormat);
