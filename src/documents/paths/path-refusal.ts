import { Refusal } from '../../result-codes.ts';

/** Contract §4: the same whether there is something at the path or not. */
export function denied(at: string): Refusal {
  return new Refusal('FILE_ACCESS_DENIED', {
    at,
    message: 'the path has to be absolute, and inside a directory that the configuration allows',
  });
}

export function notFound(at: string, what: 'file' | 'directory'): Refusal {
  return new Refusal('FILE_NOT_FOUND', { at, message: `there is no such ${what}` });
}

/** The errors of the file system as a caller is told them; undefined: an error that says nothing of its path. */
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
      return new Refusal('FILE_ACCESS_DENIED', { at, message: `the service may not use this ${what}` });
    case 'ENOSPC':
    case 'EDQUOT':
    case 'EROFS':
    case 'EIO':
    case 'EFBIG':
      return new Refusal('STORE_FULL', { at, message: 'the disk cannot be written', cause: error });
    case undefined:
    default:
      return undefined;
  }
}

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
