import type { IncomingMessage } from 'node:http';
import { isFileName } from '../../documents/document.ts';
import { MediaType } from '../../fields/values.ts';
import { fileTooLarge, refuseContentEncoding } from '../body/incoming-body.ts';
import { Problem } from '../problem.ts';

/** The headers of an upload. */
export interface UploadHeaders {
  readonly mediaType: string;
  readonly fileName: string | undefined;
  /** Undefined for a body in chunks. */
  readonly announced: number | undefined;
}

/**
 * Checks Content-Encoding, media type, size, then the name (contract §2).
 * @throws {Problem} 415, 413, 400
 */
export function uploadHeaders(request: IncomingMessage, maxBytes: number): UploadHeaders {
  const { headers } = request;
  refuseContentEncoding(request, 'file');
  const mediaType = headers['content-type'] ?? 'application/octet-stream';
  if (!MediaType.safeParse(mediaType).success) throw new Problem(415, 'the Content-Type must be a media type such as application/pdf');
  const announced = headers['content-length'] === undefined ? undefined : Number(headers['content-length']);
  if (announced !== undefined && announced > maxBytes) throw fileTooLarge(maxBytes);
  return { mediaType, fileName: fileNameOf(request), announced: headers['transfer-encoding'] === undefined ? (announced ?? 0) : undefined };
}

function fileNameOf(request: IncomingMessage): string | undefined {
  const values = request.headersDistinct['x-file-name'];
  if (values === undefined) return undefined;
  const [value = ''] = values;
  const fault = new Problem(
    400,
    'X-File-Name is a file name of at most 255 bytes without path, as percent-encoded UTF-8, and is given once',
  );
  if (values.length !== 1 || !/^[\x21-\x7e]+$/.test(value)) throw fault;
  try {
    const name = decodeURIComponent(value);
    if (isFileName(name)) return name;
  } catch {
    // Not percent-encoded UTF-8.
  }
  throw fault;
}

/**
 * The name of a file as headers say it (RFC 6266 §4.1, RFC 8187 §3.2), for saving and never for
 * showing.
 */
export function nameHeaders(fileName: string | null): Record<string, string> {
  if (fileName === null) return { 'Content-Disposition': 'attachment' };
  const encoded = encodeURIComponent(fileName).replaceAll(/['()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`);
  return { 'Content-Disposition': `attachment; filename*=UTF-8''${encoded}`, 'X-File-Name': encoded };
}
