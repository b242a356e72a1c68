import { z } from 'zod';
import { call, type ApiAnswer, type ClientName } from './api.ts';
import { derOf, signOutside, type OutsideAuthority, type OutsideSigner } from './outside-signer.ts';
import { succeeds } from './succeeds.ts';

const Prepared = z.object({
  signatureThreadId: z.string(),
  signerData: z.object({ digest: z.array(z.object({ id: z.string(), digestValue: z.string() })) }),
});

/** A session between remotePreSign and remoteSign. */
export interface OpenedSession {
  readonly signatureThreadId: string;
  /** Digests to be signed, base64, by the ID of their document. */
  readonly digests: ReadonlyMap<string, string>;
}

/** Reads the answer of remotePreSign. */
export function openedIn(body: unknown): OpenedSession {
  const { signatureThreadId, signerData } = Prepared.parse(body);
  return { signatureThreadId, digests: new Map(signerData.digest.map(({ id, digestValue }) => [id, digestValue])) };
}

/** Body of a remotePreSign request of a signer outside the service. */
export function preSignRequest(
  { signer, authority }: { readonly signer: OutsideSigner; readonly authority: OutsideAuthority },
  parameters: object,
  inputDocuments: readonly object[],
): object {
  return {
    ...{ parameters, inputDocuments },
    signerCertificate: derOf(signer.certificate),
    certificateChain: [derOf(authority.issuer), derOf(authority.root)],
  };
}

/** The right signature values of a session, base64, by the ID of their document. */
export function rightValues({ digests }: OpenedSession, signer: OutsideSigner): Record<string, string> {
  return Object.fromEntries(Array.from(digests, ([id, digest]) => [id, signOutside(signer, digest, { hash: 'sha256' })]));
}

/** Body of a remoteSign request with these values. */
export function completion({ signatureThreadId }: OpenedSession, values: Readonly<Record<string, string>>, more: object = {}): object {
  const signatureValueMapping = Object.entries(values).map(([id, signatureValue]) => ({ id, signatureValue }));
  return { signatureThreadId, signatureValues: { signatureValueMapping }, ...more };
}

/** Opens a session at the running service. */
export async function opened(request: object, client: ClientName = 'app'): Promise<OpenedSession> {
  return openedIn(succeeds(await call(client, 'signature/remotePreSign', request)).body);
}

/** Asks the running service to complete a session. */
export async function completed(request: object, client: ClientName = 'app', headers: Record<string, string> = {}): Promise<ApiAnswer> {
  return call(client, 'signature/remoteSign', request, headers);
}
