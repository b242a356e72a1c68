import { Refusal } from '../../result-codes.ts';
import { errorCode } from '../../telemetry/error-code.ts';

/** Returns a refusal that is the same whether the path exists or not (contract §4). */
export function denied(at: string): Refusal {
  return new Refusal('FILE_ACCESS_DENIED', {
    at,
    message: 'the path must be absolute and inside a directory that the configuration allows',
  });
}

export function notFound(at: string, what: 'file' | 'directory'): Refusal {
  return new Refusal('FILE_NOT_FOUND', { at, message: `no such ${what}` });
}

/**
 * Converts a file system error to a refusal; undefined for an error that is unrelated to the path.
 */
export function refusalOf(error: unknown, at: string, what: 'file' | 'directory'): Refusal | undefined {
  switch (errorCode(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
    case 'ENAMETOOLONG':
    case 'ESTALE':
      return notFound(at, what);
    case 'EACCES':
    case 'EPERM':
    case 'ELOOP':
      return new Refusal('FILE_ACCESS_DENIED', { at, message: `the service has no access to this ${what}` });
    case 'ENOSPC':
    case 'EDQUOT':
    case 'EROFS':
    case 'EIO':
    case 'EFBIG':
      return new Refusal('STORE_FULL', { at, message: 'writing to the disk failed', cause: error });
    case undefined:
    default:
      return undefined;
  }
}
