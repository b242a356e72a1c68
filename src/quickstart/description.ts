import { cscRoot, publicUrlOf, type Ports } from './configuration.ts';
import { digitalIdentity, type DigitalIdentityDescription } from './digital-identity.ts';
import { makeIdentityProvider, type IdentityProviderDescription } from './identity-provider.ts';
import { clientFiles, layout } from './layout.ts';
import { loopback } from './ports.ts';
import { timestampUrlOf } from './time-stamps.ts';
import { clients, tlsFiles } from './tls-material.ts';

/** Contract §11: what a caller needs, paths absolute. */
export interface Description {
  readonly baseUrl: string;
  readonly opsUrl: string;
  /** An environment of an earlier version has none. */
  readonly publicUrl?: string;
  /** RFC 3161. An environment of an earlier version has none. */
  readonly timestampUrl?: string;
  readonly signRoot: string;
  /** An environment of an earlier version has neither this nor the two directories. */
  readonly ftmRoot?: string;
  /** An environment of an earlier version has none. */
  readonly doc2dRoot?: string;
  /** An environment of an earlier version has none. */
  readonly cscRoot?: string | undefined;
  readonly caCertificate: string;
  readonly clientCertificate: string;
  readonly clientKey: string;
  readonly clients: Readonly<Record<string, { readonly certificate: string; readonly key: string }>>;
  readonly trustAnchors: readonly string[];
  /** For filePathData. */
  readonly readDirectory?: string;
  /** For outputDirectory. */
  readonly writeDirectory?: string;
  /**
   * Messages received by the SMTP receiver and the SMS gateway, one JSON file each. An environment
   * of an earlier version has none.
   */
  readonly outboxDirectory?: string;
  /** Signs tokens that createCertificate accepts. An environment of an earlier version has none. */
  readonly identityProvider?: IdentityProviderDescription;
  /** Of tenant demo. An environment of an earlier version has none. */
  readonly twoDDoc?: DigitalIdentityDescription;
  readonly configFile: string;
}

/** Returns the description's members that concern files. */
export function fileEntries(): Required<Pick<Description, 'ftmRoot' | 'readDirectory' | 'writeDirectory'>> {
  return { ftmRoot: '/ftm', readDirectory: layout.read, writeDirectory: layout.write };
}

/** Returns the description's member of the clients. */
export function clientEntries(): Pick<Description, 'clients'> {
  return { clients: Object.fromEntries(Object.keys(clients).map((name) => [name, clientFiles(name)])) };
}

/** Returns the description's member of the digital identity, if there is one. */
export function twoDDocEntry(): Pick<Description, 'twoDDoc'> {
  const twoDDoc = digitalIdentity();
  return twoDDoc === undefined ? {} : { twoDDoc };
}

export function describe(ports: Ports, rootCertificate: string): Description {
  const app = clientFiles('app');
  return {
    baseUrl: `https://${loopback}:${ports.api}`,
    opsUrl: `http://${loopback}:${ports.operations}`,
    publicUrl: publicUrlOf(ports.public),
    timestampUrl: timestampUrlOf(publicUrlOf(ports.public)),
    signRoot: '/sign',
    doc2dRoot: '/doc2d',
    cscRoot,
    ...fileEntries(),
    caCertificate: tlsFiles.authority,
    clientCertificate: app.certificate,
    clientKey: app.key,
    ...clientEntries(),
    // Of the issuing CA, and of the time-stamp authority: here one root is above both.
    trustAnchors: [rootCertificate, rootCertificate],
    outboxDirectory: layout.outbox,
    identityProvider: makeIdentityProvider(),
    ...twoDDocEntry(),
    configFile: layout.config,
  };
}
