import type { FuzzTarget } from './fuzz-target.ts';
import { pathTarget } from './path-target.ts';
import { cmsTarget, pdfTarget, xmlTarget } from './signature-targets.ts';

/** Each target is made when it is asked for, since some make keys and certificates. */
export const targets: Readonly<Record<string, () => FuzzTarget>> = {
  cms: cmsTarget,
  xml: xmlTarget,
  pdf: pdfTarget,
  paths: pathTarget,
};
