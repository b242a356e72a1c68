import { keyPurpose, keyTrial, type KeyId, type KeyPurpose } from '../../key-id.ts';
import type { SignatureAlgorithm } from '../../signature-algorithm.ts';
import { checkCertificationRequest, checkEndEntity, checkResponder, readCertificate } from './certificate.ts';
import { checkCertificateList } from './certificate-list.ts';
import type { MadeAuditKeys } from '../made-audit-keys.ts';
import { checkDer, DerWalk, NotFit, tags } from './der-walk.ts';
import { checkResponseData } from './response-data.ts';
import { checkTimeStampAttributes } from './time-stamp-attributes.ts';

/**
 * Client that a host serves: the service, or one command of an operator, which started it for
 * itself. It is fixed when the host starts; no request changes it.
 */
export type ServedBy = 'service' | 'operator';

/** Start of the audit log's `checkpointText`. */
const checkpointStart = Buffer.from('signetd audit checkpoint v1\n');
/** The audit log's `successionText`. */
const succession = /^signetd audit key v1\nformer: [0-9a-f]{64}\nnew: (?<next>[0-9a-f]{64})\ntime: [0-9TZ:.-]{1,32}\n$/;
const maxAuditBytes = 4096;
const newline = 0x0a;
const versionTag = 0xa0;

/** Facts about this host that the purpose of a key may depend on. */
export interface HostFacts {
  readonly servedBy: ServedBy;
  readonly auditKeys: Pick<MadeAuditKeys, 'has'>;
}

/**
 * Returns why a service key does not sign this message with this algorithm; undefined if it does.
 * The message is untrusted.
 */
export function purposeFault(id: KeyId, algorithm: SignatureAlgorithm, message: Buffer, facts: HostFacts): string | undefined {
  const purpose = keyPurpose(id);
  if (purpose === undefined || purpose === 'general' || purpose === 'mac') return `the key ${id} has no purpose that signs messages`;
  if (algorithm.hash === 'sha1' || (algorithm.scheme === 'RSA_PSS' && algorithm.mgfHash === 'sha1'))
    return 'service keys do not sign with SHA-1';
  if (message.equals(keyTrial)) return undefined;
  try {
    checkMessage(purpose, message, facts);
    return undefined;
  } catch (error) {
    if (error instanceof NotFit) return `the key ${id} (${purpose}) does not sign this: ${error.message}`;
    throw error;
  }
}

function checkMessage(purpose: Exclude<KeyPurpose, 'general' | 'mac'>, message: Buffer, { servedBy, auditKeys }: HostFacts): void {
  if (purpose === 'audit') {
    checkOfLog(message, auditKeys);
    return;
  }
  checkDer(message);
  switch (purpose) {
    case 'ocsp':
      checkResponseData(new DerWalk(message).inside(tags.sequence, 'ResponseData'));
      return;
    case 'timeStamps':
      checkTimeStampAttributes(new DerWalk(message).inside(tags.set, 'SignedAttributes'));
      return;
    case 'root':
    case 'authority':
      checkOfAuthority(purpose, new DerWalk(message).inside(tags.sequence, 'a certificate or CRL'), servedBy);
  }
}

/**
 * A TBSCertificate begins with [0], a TBSCertList with an INTEGER, as does the
 * CertificationRequestInfo of an operator's command.
 */
function checkOfAuthority(purpose: 'root' | 'authority', tbs: DerWalk, servedBy: ServedBy): void {
  if (tbs.tag === versionTag) {
    const facts = readCertificate(tbs);
    if (servedBy === 'operator') return;
    if (purpose === 'root') checkResponder(facts);
    else checkEndEntity(facts);
  } else if (servedBy === 'operator' && tbs.raw[2] === 0) {
    checkCertificationRequest(tbs);
  } else {
    checkCertificateList(tbs);
  }
}

function checkOfLog(message: Buffer, auditKeys: HostFacts['auditKeys']): void {
  if (message.length > maxAuditBytes || message.at(-1) !== newline) throw new NotFit('it is not a checkpoint of the audit log');
  if (message.subarray(0, checkpointStart.length).equals(checkpointStart)) return;
  const next = succession.exec(message.toString('latin1'))?.groups?.['next'];
  if (next === undefined) throw new NotFit('it is not a checkpoint of the audit log');
  if (!auditKeys.has(next)) throw new NotFit('this host has not made the key that would follow');
}
