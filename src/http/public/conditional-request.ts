import type { IncomingMessage } from 'node:http';

/** RFC 9110 §13.1.2, §13.1.3: If-None-Match counts before If-Modified-Since. */
export function isUnchanged({ headers }: IncomingMessage, etag: string, lastModified: Date): boolean {
  const tags = headers['if-none-match'];
  if (tags !== undefined) return tags.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag);
  const since = Date.parse(headers['if-modified-since'] ?? '');
  return !Number.isNaN(since) && lastModified.getTime() <= since;
}
