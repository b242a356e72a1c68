import type { CrlPublishers } from '../certificates/crl/crl-publishers.ts';
import type { CertificateIssuer } from '../certificates/issue.ts';
import type { OcspResponders } from '../certificates/ocsp/ocsp-responders.ts';
import { pathCertificate, type PathCertificate } from '../x509/path/path-certificate.ts';
import type { Caller } from '../clients/caller.ts';
import { certificatesIn } from '../x509/pem.ts';
import type { Config } from '../config/config.ts';
import { ConfigError } from '../config/config-error.ts';
import { RevocationSources, type OwnAuthority } from '../revocation/revocation-data.ts';
import { readableCertificates } from '../signatures/levels/embedded-data.ts';
import { Levels, type LevelServices } from '../signatures/levels/level-order.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import type { OutgoingEnd } from '../telemetry/outgoing-metrics.ts';
import type { TimeStampAuthority } from '../timestamp/time-stamp-authority.ts';
import { TimeStampClient } from '../timestamp/time-stamp-client.ts';
import { outgoingClient, readText } from './outgoing-client.ts';

/** As encoded. */
const v3 = 2;

/** The service's own authorities and their services, which signatures use without HTTP. */
export interface OwnServices {
  readonly authorities: ReadonlyMap<string, CertificateIssuer>;
  readonly crls: Pick<CrlPublishers, 'madeSince'>;
  readonly ocspResponders: Pick<OcspResponders, 'find'>;
  /** Returns the time-stamp authority, if there is one now. */
  readonly timeStampAuthority: () => TimeStampAuthority | undefined;
  /** Threads for the signatures of strangers' certificates. */
  readonly threads: WorkThreads;
  /** Told how each request to another server ended. */
  readonly asked: (end: OutgoingEnd) => void;
}

/** The members of a configuration that levels above baseline B depend on. */
type LevelConfig = Pick<Config, 'outgoing' | 'revocation' | 'timeStamps' | 'certificateAuthorities'>;

/**
 * Makes what levels above baseline B need under a configuration.
 * @throws {ConfigError} for files that cannot be used
 */
export function levelServices(config: LevelConfig, own: OwnServices): LevelServices {
  const { outgoing, revocation, timeStamps } = config;
  const { totalSeconds } = outgoing;
  const http = outgoingClient(outgoing, own.asked);
  const anchors = timeStamps.anchors.flatMap((file) => anchorsIn('timeStamps.anchors', file));
  const timeStampTrust: LevelServices['timeStampTrust'] = () => {
    const chain = own.timeStampAuthority()?.signer.chain.map(pathCertificate) ?? [];
    return { anchors: [...anchors, ...chain.slice(-1)], intermediates: chain.slice(1, -1) };
  };
  const ownChains = [...own.authorities.values()].flatMap(({ chain, otherChains = [] }) => [...chain, ...otherChains.flat()]);
  const named = [...revocation.anchors.flatMap(namingAnchorsIn), ...readableCertificates(ownChains)];
  const stampUrls = timeStamps.urls.map((url) => new URL(url));
  const ownAuthority = ownAuthorities(config, own);
  return {
    http,
    threads: own.threads,
    timeStamps: new TimeStampClient(http, own.threads),
    revocation: new RevocationSources(http, own.threads, ownAuthority),
    ownAuthority,
    server: {
      authorities: () => (stampUrls.length > 0 ? stampUrls : [own.timeStampAuthority() ?? []].flat()),
      crlUrls: revocation.crlUrls.map((url) => new URL(url)),
      ocspUrls: revocation.ocspUrls.map((url) => new URL(url)),
    },
    namingAnchors: () => [...named, ...timeStampTrust().anchors, ...timeStampTrust().intermediates],
    timeStampTrust,
    totalSeconds,
  };
}

/** Reads the files that `levelServices` reads, each with `look`, which keeps its fault. */
export function checkLevelFiles(
  { outgoing, revocation, timeStamps }: Pick<LevelConfig, 'outgoing' | 'revocation' | 'timeStamps'>,
  look: (member: string, work: () => unknown) => void,
): void {
  const { certificateAuthority } = outgoing;
  if (certificateAuthority !== undefined)
    look('outgoing.certificateAuthority', () => readText('outgoing.certificateAuthority', certificateAuthority));
  for (const file of timeStamps.anchors) look('timeStamps.anchors', () => anchorsIn('timeStamps.anchors', file));
  for (const file of revocation.anchors) look('revocation.anchors', () => namingAnchorsIn(file));
}

/**
 * Returns the levels above baseline B for a caller: by the rules of its tenant, and with the
 * tenant's share of the connections to other servers.
 */
export function tenantLevels(
  services: LevelServices,
  { tenants }: { readonly tenants: Readonly<Record<string, Pick<Config['tenants'][string], 'timeStampsFromAnyRoot' | 'allowSha1'>>> },
  { tenant }: Pick<Caller, 'tenant'>,
): Levels {
  const { timeStampsFromAnyRoot: anyRoot = false, allowSha1 = false } = tenants[tenant] ?? {};
  const http = services.http.ofTenant(tenant);
  const own = {
    ...services,
    http,
    timeStamps: new TimeStampClient(http, services.threads),
    revocation: services.revocation.ofTenant(tenant),
  };
  return new Levels(own, { anyRoot, allowSha1 });
}

/** Finds the own authority of an issuer by name and key. */
function ownAuthorities(
  { certificateAuthorities }: Pick<Config, 'certificateAuthorities'>,
  { authorities, crls, ocspResponders }: OwnServices,
): (issuer: PathCertificate) => OwnAuthority | undefined {
  const names = new Map(
    [...authorities].map(([name, { certificate }]) => [identity(certificate.subject, certificate.subjectPublicKeyInfo), name]),
  );
  return ({ subject, subjectPublicKeyInfo }) => {
    const name = names.get(identity(subject, subjectPublicKeyInfo));
    if (name === undefined) return undefined;
    const responder = ocspResponders.find(name);
    return {
      crl:
        certificateAuthorities[name]?.crl.enabled === true
          ? async (since) => {
              const crl = await crls.madeSince(name, since);
              if (crl === undefined) throw new Error('none can be issued that is not older than the certificate');
              return crl.der;
            }
          : undefined,
      ocspAnswer: responder === undefined ? undefined : async (request) => responder.ownAnswer(request),
    };
  };
}

function identity(subject: Uint8Array, subjectPublicKeyInfo: Uint8Array): string {
  return `${Buffer.from(subject).toString('base64')} ${Buffer.from(subjectPublicKeyInfo).toString('base64')}`;
}

function anchorsIn(member: string, file: string): PathCertificate[] {
  const text = readText(member, file);
  try {
    const found = certificatesIn(text).map(pathCertificate);
    if (found.length > 0) return found;
  } catch (error) {
    throw new ConfigError(`${member}: ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
  throw new ConfigError(`${member}: ${file}: no certificate in it`);
}

/**
 * The holder of a certificate that is no authority's could issue others, and have requests sent to
 * any host that they name. Certificates before version 3 do not tell what they are.
 */
function namingAnchorsIn(file: string): PathCertificate[] {
  const anchors = anchorsIn('revocation.anchors', file);
  const other = anchors.find(({ version, isCa }) => version === v3 && !isCa);
  if (other === undefined) return anchors;
  throw new ConfigError(
    `revocation.anchors: ${file}: the certificate with serial number ${Buffer.from(other.serialNumber).toString('hex')} is not that of an authority (basicConstraints without cA); name the one that issued it`,
  );
}
