import { moduleFile } from '../config/module-file.ts';
import { cmsFormat } from './cms/cms.ts';
import { rawFormat } from './raw/raw.ts';
import { ThreadedFormat } from './format-steps.ts';

/** The formats as operations use them. */
export const raw = new ThreadedFormat(rawFormat, moduleFile('./raw/raw-thread', import.meta.url));
// A document of few bytes can hold many signatures.
export const cms = new ThreadedFormat(
  cmsFormat,
  moduleFile('./cms/cms-thread', import.meta.url),
  ({ coSigning }) => coSigning === 'CHECKED',
);
