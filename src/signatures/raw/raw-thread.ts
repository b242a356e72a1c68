/** Runs in a work thread. */
import { formatThread } from '../threaded-format.ts';
import { rawFormat } from './raw.ts';

export const { prepare, complete } = formatThread(rawFormat);
