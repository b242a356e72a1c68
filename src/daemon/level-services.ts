import { readFileSync } from 'node:fs';
import type { CrlPublishers } from '../certificates/crl/crl-publishers.ts';
import type { CertificateIssuer } from '../certificates/issue.ts';
import type { OcspResponders } from '../certificates/ocsp/ocsp-responders.ts';
import { pathCertificate, type PathCertificate } from '../x509/path/path-certificate.ts';
import type { Caller } from '../clients/caller.ts';
import { certificatesIn } from '../x509/pem.ts';
import { ConfigError, type Config } from '../config/config.ts';
import { OutgoingHttp } from '../outgoing/outgoing-http.ts';
import { RevocationSources, type OwnAuthority } from '../revocation/revocation-data.ts';
import { Levels, type LevelServices } from '../signatures/levels/level-order.ts';
import type { OutgoingEnd } from '../telemetry/outgoing-metrics.ts';
import type { TimeStampAuthority } from '../timestamp/time-stamp-authority.ts';
import { TimeStampClient } from '../timestamp/time-stamp-client.ts';
import { outgoingEnd } from './outgoing-end.ts';

/** What the service itself has, so that it is not asked by HTTP. */
export interface OwnServices {
  readonly authorities: ReadonlyMap<string, CertificateIssuer>;
  readonly crls: Pick<CrlPublishers, 'madeSince'>;
  readonly ocspResponders: Pick<OcspResponders, 'find'>;
  /** The time-stamp authority, where there is one at the moment. */
  readonly timeStampAuthority: () => TimeStampAuthority | undefined;
  /** Told how each request to another server ended. */
  readonly asked: (end: OutgoingEnd) => void;
}

/** What levels above baseline B are made with under a configuration. @throws {ConfigError} for files that cannot be used */
export function levelServices(config: Config, own: OwnServices): LevelServices {
  const { outgoing, revocation, timeStamps } = config;
  const { certificateAuthority, totalSeconds } = outgoing;
  const roots = certificateAuthority === undefined ? undefined : readText('outgoing.certificateAuthority', certificateAuthority);
  const http = new OutgoingHttp({
    ...outgoing,
    certificateAuthority: roots,
    ended: (asked, failure) => {
      own.asked(outgoingEnd(asked, failure));
    },
  });
  const anchors = timeStamps.anchors.flatMap((file) => anchorsIn(file));
  const named = timeStamps.urls.map((url) => new URL(url));
  const ownAuthority = ownAuthorities(config, own);
  return {
    http,
    timeStamps: new TimeStampClient(http),
    revocation: new RevocationSources(http, ownAuthority),
    ownAuthority,
    server: {
      authorities: () => (named.length > 0 ? named : [own.timeStampAuthority() ?? []].flat()),
      crlUrls: revocation.crlUrls.map((url) => new URL(url)),
      ocspUrls: revocation.ocspUrls.map((url) => new URL(url)),
    },
    timeStampTrust: () => {
      const chain = own.timeStampAuthority()?.signer.chain.map(pathCertificate) ?? [];
      return { anchors: [...anchors, ...chain.slice(-1)], intermediates: chain.slice(1, -1) };
    },
    totalSeconds,
  };
}

/** How a caller reaches levels above baseline B: by the rules of the tenant, and with its share of the connections to other servers. */
export function tenantLevels(services: LevelServices, { tenants }: Pick<Config, 'tenants'>, { tenant }: Pick<Caller, 'tenant'>): Levels {
  const { timeStampsFromAnyRoot: anyRoot = false, allowSha1 = false } = tenants[tenant] ?? {};
  const http = services.http.ofTenant(tenant);
  const own = { ...services, http, timeStamps: new TimeStampClient(http), revocation: services.revocation.ofTenant(tenant) };
  return new Levels(own, { anyRoot, allowSha1 });
}

/** The own authority of an issuer: that of its name and key. */
function ownAuthorities(
  { certificateAuthorities }: Config,
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

function anchorsIn(file: string): PathCertificate[] {
  const text = readText('timeStamps.anchors', file);
  try {
    const found = certificatesIn(text).map(pathCertificate);
    if (found.length > 0) return found;
  } catch (error) {
    throw new ConfigError(`timeStamps.anchors: ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
  throw new ConfigError(`timeStamps.anchors: ${file}: no certificate in it`);
}

function readText(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError(`${name}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
