import type { IncomingMessage } from 'node:http';

/** Below the prefix of the file transfer store (contract §1). */
export const filesPath = '/files';

export function isUpload({ method, url }: IncomingMessage, ftmRoot: string): boolean {
  return method === 'POST' && url?.split('?', 1)[0] === `${ftmRoot}${filesPath}`;
}
