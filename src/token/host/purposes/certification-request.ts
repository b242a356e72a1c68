import { NotFit, tags, type DerWalk } from './der-walk.ts';

/** CertificationRequestInfo (PKCS #10, RFC 2986 §4.1), which an operator brings to a root elsewhere. `info` is inside of its SEQUENCE. @throws {NotFit} */
export function checkCertificationRequest(info: DerWalk): void {
  const version = info.content(tags.integer, 'version');
  if (version.length !== 1 || version[0] !== 0) throw new NotFit('a request of another version than 1');
  if (info.inside(tags.sequence, 'subject').isAtEnd) throw new NotFit('a request without subject');
  info.skip(tags.sequence, 'subjectPKInfo');
  info.skip(0xa0, 'attributes');
  info.end('CertificationRequestInfo');
}
