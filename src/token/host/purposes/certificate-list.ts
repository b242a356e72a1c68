import { NotFit, tags, type DerWalk } from './der-walk.ts';
import { periodDays, readTime } from './times.ts';

const extensionsTag = 0xa0;

/**
 * Checks a TBSCertList of version 2 (RFC 5280 §5.1.2): of each entry its type, serial number and
 * time. `tbs` is inside its SEQUENCE.
 * @throws {NotFit}
 */
export function checkCertificateList(tbs: DerWalk): void {
  const version = tbs.content(tags.integer, 'version');
  if (version.length !== 1 || version[0] !== 1) throw new NotFit('the CRL is not version 2');
  tbs.skip(tags.sequence, 'signature');
  if (tbs.inside(tags.sequence, 'issuer').isAtEnd) throw new NotFit('the CRL has no issuer');
  periodDays(readTime(tbs), readTime(tbs));
  if (tbs.tag === tags.sequence) checkEntries(tbs.content(tags.sequence, 'revokedCertificates'));
  const wrapper = tbs.inside(extensionsTag, 'crlExtensions');
  const extensions = wrapper.inside(tags.sequence, 'crlExtensions');
  wrapper.end('crlExtensions');
  while (!extensions.isAtEnd) extensions.skip(tags.sequence, 'extension');
  tbs.end('TBSCertList');
}

/**
 * One loop without allocations, as there may be a million entries. All elements are known to be
 * valid DER; lengths of entries have one octet.
 */
function checkEntries(entries: Uint8Array): void {
  if (entries.length === 0) throw new NotFit('the list of revoked certificates is empty');
  for (let at = 0; at < entries.length;) {
    const length = entries[at + 1] ?? 0;
    if (entries[at] !== tags.sequence || length >= 0x80) throw new NotFit('an entry is malformed');
    const end = at + 2 + length;
    const time = at + 4 + (entries[at + 3] ?? 0);
    const isEntry =
      entries[at + 2] === tags.integer && time < end && (entries[time] === tags.utcTime || entries[time] === tags.generalizedTime);
    if (!isEntry) throw new NotFit('an entry is malformed');
    at = end;
  }
}
