import { spawnSync } from 'node:child_process';

/** Why nothing can be checked with promtool; undefined where it is installed. */
export const noPromtool =
  spawnSync('promtool', ['--version']).error === undefined ? undefined : 'promtool (Debian: prometheus) is not installed';
