import type { Config } from '../config/config.ts';
import type { LimitsConfig } from '../config/limits-config.ts';

/** Every directory that evidence may be written into. */
export function writeDirectoriesOf({ documents, tenants }: Config): string[] {
  return [...documents.writeDirectories, ...Object.values(tenants).flatMap(({ writeDirectories }) => writeDirectories ?? [])];
}

/** The limits of the listener: a whole request may take as long as the longest of its kinds. */
export function limitsWithUploads({ limits, transferStore }: Config): LimitsConfig {
  const { requestTimeoutSeconds } = limits;
  return { ...limits, requestTimeoutSeconds: Math.max(requestTimeoutSeconds, transferStore?.uploadTimeoutSeconds ?? 0) };
}
