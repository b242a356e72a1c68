import { accessSync, constants, existsSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../../config/config.ts';
import { faultText } from '../config/findings.ts';
import { fault, type Diagnosis } from './diagnosis.ts';

/** With less, a busy service is stopped within minutes. */
export const leastBytes = 16 * 1024 * 1024;

/** Diagnoses the directories that a stopped service would write to: only those with a fault. */
export function disks({ audit, state }: Config): Diagnosis[] {
  return [
    ...(audit.enabled ? directory('audit log', 'audit.directory', audit.directory) : []),
    ...(state.kind === 'sqlite' ? directory('state store', 'state.path', dirname(state.path)) : []),
  ];
}

function directory(part: string, member: string, path: string): Diagnosis[] {
  const existing = existingPart(path);
  try {
    accessSync(existing, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(existing);
    if (bavail * bsize >= leastBytes) return [];
    return [fault(part, `${member}: the disk of ${path} has only ${Math.floor((bavail * bsize) / 1024)} KiB left: free space on it`)];
  } catch (error) {
    return [fault(part, `${member}: ${path} cannot be written (${faultText(error)}): correct its owner, its mode or its mount`)];
  }
}

/** Returns the nearest directory that exists; the start creates those below it. */
function existingPart(path: string): string {
  return existsSync(path) || path === dirname(path) ? path : existingPart(dirname(path));
}
