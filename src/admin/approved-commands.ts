import { createHash } from 'node:crypto';
import { children, readAll } from '../asn1/reader.ts';
import { certificateDetails } from '../audit/announced-uses.ts';
import type { ApprovalDetails, CertificateDetails } from '../audit/record.ts';
import type { Config } from '../config/config.ts';
import { keyTrial } from '../token/key-id.ts';
import { readTbsCertificate } from '../x509/tbs-certificate.ts';
import type { Approvals, Asked, WaitingPeer } from './approvals.ts';
import { readClientCertificate } from './client-certificate.ts';
import { type AdminRequest, CommandRefused, type RequestOf } from './protocol.ts';

/** How long a client may be registered for whose certificate was approved together with it. */
const grantMs = 600_000;

type Details = [string, string][];
type Needed = Pick<Asked, 'command' | 'details' | 'subject'>;

/** An approval of a certificate together with the registration of its client. */
interface Grant {
  readonly approval: ApprovalDetails;
  readonly uid: number;
  /** Of the TBSCertificate: `<hash>:<hexadecimal>`. */
  readonly signed: string;
  readonly registration: string;
  readonly untilMs: number;
}

/**
 * Decides which commands wait for a second user, and describes them for that user: those that sign
 * with the key of a CA, admit a client, change the purpose of a key, or delete records.
 */
export class ApprovedCommands {
  readonly approvals: Approvals;
  readonly #config: () => Config;
  #grants: readonly Grant[] = [];

  constructor(approvals: Approvals, config: () => Config) {
    this.approvals = approvals;
    this.#config = config;
  }

  /**
   * Waits for the approval of a command that needs one. Returns what its record says of that.
   * @throws {NotApproved}
   * @throws {CommandRefused} also for a command that cannot be described
   */
  async approved(request: AdminRequest, uid: number, peer: WaitingPeer): Promise<ApprovalDetails | undefined> {
    if (request.command === 'client add' && !request.again) {
      const granted = this.#takeGrant(request, uid);
      if (granted !== undefined) return granted;
    }
    const needed = this.#needed(request);
    if (needed === undefined) return undefined;
    const approval = await this.approvals.ask({ ...needed, uid }, peer);
    if (request.command === 'record use' && request.registers !== undefined) this.#grant(request, approval, uid);
    return approval;
  }

  #needed(request: AdminRequest): Needed | undefined {
    switch (request.command) {
      case 'client add':
        return clientAdd(request);
      case 'audit prune':
        return {
          command: 'audit prune',
          details: [['removes', `all files of the audit log whose records are older than ${timeOf(request.before)}`]],
        };
      case 'record purpose':
        return {
          command: request.by,
          details: [
            ['changes', `the purpose of the key ${this.#keyName(request.keyId)}`],
            ['to', request.purpose],
          ],
        };
      case 'mac destroy':
        return {
          command: 'mac destroy-former',
          details: [
            ['destroys, for good', 'the former MAC keys on the token'],
            ['though secrets depend on them', request.force ? 'yes: those secrets are lost' : 'no'],
          ],
        };
      case 'record use':
        return this.#use(request);
      // These end rights, read, or concern one key of a caller; or they are decided elsewhere.
      case 'client list':
      case 'client list revoked':
      case 'client revoke':
      case 'client reload':
      case 'key list':
      case 'key show':
      case 'key unlock':
      case 'key remove':
      case 'mac status':
      case 'mac rotate':
      case 'answers status':
      case 'answers rotate':
      case 'audit rotate-key':
      case 'pool list':
      case 'identity list':
      case 'identity unlock':
      case 'identity remove':
      case 'state compare':
      case 'backup create':
      case 'backup end':
      case 'status':
      case 'console':
      case 'reload':
      case 'record command':
      case 'approvals':
      case 'approve':
      case 'refuse':
      // While the service runs, there is nothing to confirm; in stand-by, it is approved there.
      case 'state confirm':
      case 'clock confirm':
        return undefined;
    }
  }

  #use(request: RequestOf<'record use'>): Needed | undefined {
    const { by, use, message, registers } = request;
    const [verb = '', key = '', scheme = '', digest = ''] = use.split(' ');
    if (verb === 'destroy') return { command: by, details: [['destroys, for good', `the key ${this.#keyName(key)}`]] };
    if (verb !== 'sign' || isTrial(digest)) return undefined;
    if (message === undefined)
      throw new CommandRefused(
        'signetctl does not say what is to be signed, which must be approved: its version differs from that of signetd',
      );
    const signed = certificateOf(request);
    const registration: Details =
      registers === undefined
        ? []
        : [
            [registers.replace ? 'registers again' : 'registers', `the client "${registers.name}"`],
            ['tenant', registers.tenant],
            ['roles', registers.roles.join(', ')],
          ];
    return {
      command: by,
      details: [
        ['signs', signed === undefined ? 'data that is not a certificate, such as a certification request' : 'a certificate'],
        ['with the key', this.#keyName(key)],
        ...(signed === undefined ? [] : certificateWords(signed)),
        ...registration,
        ['signature', `${scheme} ${digest}`],
      ],
      subject: {
        certificate: signed,
        ...(registers === undefined ? {} : { client: registers.name, tenant: registers.tenant, roles: registers.roles }),
      },
    };
  }

  /** Returns the identifier of a key with its name in the configuration. */
  #keyName(keyId: string): string {
    const { certificateAuthorities, clientAuthority, timeStampAuthority } = this.#config();
    const names = [
      ...Object.entries(certificateAuthorities).flatMap(([name, { keyId: own }]) => (own === keyId ? [`CA ${name}`] : [])),
      ...(clientAuthority?.keyId === keyId ? ['clientAuthority'] : []),
      ...(timeStampAuthority?.keyId === keyId ? ['timeStampAuthority'] : []),
    ];
    return names.length === 0 ? `${keyId} (not in the configuration)` : `${keyId} (${names.join(', ')})`;
  }

  #grant({ use, registers }: RequestOf<'record use'>, approval: ApprovalDetails, uid: number): void {
    const signed = use.split(' ')[3] ?? '';
    this.#grants = [
      ...this.#grants,
      { approval, uid, signed, registration: JSON.stringify(registers), untilMs: performance.now() + grantMs },
    ];
  }

  /**
   * Takes the approval of exactly this certificate and registration, given to the same user; once.
   */
  #takeGrant({ certificate, name, tenant, roles, replace }: RequestOf<'client add'>, uid: number): ApprovalDetails | undefined {
    this.#grants = this.#grants.filter(({ untilMs }) => performance.now() < untilMs);
    const registration = JSON.stringify({ name, tenant, roles, replace });
    const grant = this.#grants.find((one) => one.uid === uid && one.registration === registration && isSignedPart(certificate, one.signed));
    if (grant === undefined) return undefined;
    this.#grants = this.#grants.filter((one) => one !== grant);
    return grant.approval;
  }
}

/**
 * Returns what a record says of the certificate that is to be signed; undefined if it is none.
 * @throws {CommandRefused} if the message is not what the use names
 */
export function certificateOf({ use, message, certificate }: RequestOf<'record use'>): CertificateDetails | undefined {
  if (message === undefined) return certificate;
  const bytes = Buffer.from(message, 'base64');
  if (digestAs(use.split(' ')[3] ?? '', bytes) !== use.split(' ')[3]) throw new CommandRefused('message: this is not what the use signs');
  try {
    return certificateDetails(readTbsCertificate(readAll(bytes)));
  } catch {
    return undefined;
  }
}

function clientAdd({ certificate: text, name, tenant, roles, replace, again }: RequestOf<'client add'>): Needed {
  const { certificate, publicKey: key } = readClientCertificate(text);
  const { subject, issuer, serialNumber, validFromDate, validToDate } = certificate;
  const oneLine = (distinguishedName: string): string => distinguishedName.split('\n').join(', ');
  return {
    command: 'client add',
    details: [
      [replace ? 'registers, or replaces' : 'registers', `the client "${name}"`],
      ['tenant', tenant],
      ['roles', roles.join(', ')],
      ['public key', key],
      ...(again ? [['although its key', 'was revoked, if it was'] as const] : []),
      ['subject', oneLine(subject)],
      ['issuer', oneLine(issuer)],
      ['serial number', serialNumber.toLowerCase()],
      ['valid from', validFromDate.toISOString()],
      ['valid until', validToDate.toISOString()],
    ],
    subject: { client: name, tenant, roles, spki: key.slice(0, 16) },
  };
}

function certificateWords({ subject, serialNumber, notBefore, notAfter }: CertificateDetails): Details {
  return [
    ['subject', subject],
    ['serial number', serialNumber],
    ['valid from', notBefore],
    ['valid until', notAfter],
  ];
}

function timeOf(milliseconds: number): string {
  return new Date(Math.min(milliseconds, 8.64e15)).toISOString();
}

function isTrial(digest: string): boolean {
  return digestAs(digest, keyTrial) === digest;
}

function isSignedPart(certificate: string, signed: string): boolean {
  try {
    const [part] = children(readAll(Buffer.from(certificate, 'base64')));
    return part !== undefined && digestAs(signed, part.raw) === signed;
  } catch {
    return false;
  }
}

/** Returns the digest of bytes in the form, and with the hash, of another: `<hash>:<hexadecimal>`. */
function digestAs(form: string, bytes: Uint8Array): string | undefined {
  const hash = /^(sha(?:256|384|512)):[0-9a-f]+$/.exec(form)?.[1];
  return hash === undefined ? undefined : `${hash}:${createHash(hash).update(bytes).digest('hex')}`;
}
