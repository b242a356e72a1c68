/** Runs in a work thread. */
import { formatThread } from '../format-steps.ts';
import { cmsFormat } from './cms.ts';

export const { prepare, complete } = formatThread(cmsFormat);
