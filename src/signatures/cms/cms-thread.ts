/** Runs in a work thread. */
import { formatThread } from '../threaded-format.ts';
import { cmsFormat } from './cms.ts';

export const { prepare, complete } = formatThread(cmsFormat);
