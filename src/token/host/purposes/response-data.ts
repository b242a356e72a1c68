import { NotFit, tags, type DerWalk } from './der-walk.ts';
import { readGeneralizedTime } from './times.ts';

/** ResponderID: by name, by key. */
const byName = 0xa1;
const byKey = 0xa2;
/** CertStatus: good, revoked, unknown. */
const statusTags: readonly (number | undefined)[] = [0x80, 0xa1, 0x82];
const keyHashBytes = 20;

/**
 * Checks ResponseData (RFC 6960 4.2.1) of version 1. `data` is inside its SEQUENCE.
 * @throws {NotFit}
 */
export function checkResponseData(data: DerWalk): void {
  checkResponder(data);
  readGeneralizedTime(data);
  const responses = data.inside(tags.sequence, 'responses');
  if (responses.isAtEnd) throw new NotFit('the response has no entries');
  while (!responses.isAtEnd) checkSingleResponse(responses.inside(tags.sequence, 'SingleResponse'));
  if (data.tag === 0xa1) data.skip(0xa1, 'responseExtensions');
  data.end('ResponseData');
}

function checkResponder(data: DerWalk): void {
  if (data.tag === byName) {
    const name = data.inside(byName, 'byName');
    name.skip(tags.sequence, 'byName');
    name.end('byName');
    return;
  }
  const key = data.inside(byKey, 'responderID');
  if (key.content(tags.octetString, 'byKey').length !== keyHashBytes) throw new NotFit('the key hash has a wrong length');
  key.end('byKey');
}

function checkSingleResponse(single: DerWalk): void {
  const certId = single.inside(tags.sequence, 'certID');
  certId.skip(tags.sequence, 'hashAlgorithm');
  certId.skip(tags.octetString, 'issuerNameHash');
  certId.skip(tags.octetString, 'issuerKeyHash');
  certId.skip(tags.integer, 'serialNumber');
  certId.end('certID');
  const status = single.tag;
  if (status === undefined || !statusTags.includes(status)) throw new NotFit('certStatus is missing');
  single.skip(status, 'certStatus');
  readGeneralizedTime(single);
  if (single.tag === 0xa0) {
    const nextUpdate = single.inside(0xa0, 'nextUpdate');
    readGeneralizedTime(nextUpdate);
    nextUpdate.end('nextUpdate');
  }
  if (single.tag === 0xa1) single.skip(0xa1, 'singleExtensions');
  single.end('SingleResponse');
}
