import type { VisibleSignature } from './appearance/visible-signature.ts';
import type { Locale } from '../format-entry.ts';
import type { PageImage } from './page-image.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import type { Level } from '../levels/level-writer.ts';
import type { SignedProperties } from '../request/signed-properties.ts';
import type { ByteRange } from './signature-room.ts';
import type { DocMdpLevel } from './signed-fields.ts';

export interface PadesParameters {
  readonly algorithm: SignatureAlgorithm;
  /** SubFilter adbe.pkcs7.detached instead of ETSI.CAdES.detached. */
  readonly isBasic: boolean;
  readonly level: Level;
  readonly properties: SignedProperties;
  readonly validates: boolean;
  /**
   * Changes that the document allows after a certification signature; undefined for an approval
   * signature.
   */
  readonly certifies: DocMdpLevel | undefined;
  readonly locksDocument: boolean;
  readonly fieldsLock: 'DEFAULT' | 'ALL' | 'NEITHER';
  /** Name of an existing field to be signed; undefined for a new one. */
  readonly signatureField: string | undefined;
  /** Undefined for an invisible signature. */
  readonly visible: VisibleSignature | undefined;
  /** An image on the pages. */
  readonly pageImage: PageImage | undefined;
  readonly locale: Locale;
  /** JSON Pointer of the parameters. */
  readonly at: string;
}

/** State between the two steps, with bytes in base64. */
export interface PadesState {
  readonly signedAttributes: readonly string[];
  readonly byteRange: ByteRange;
  /** Digest of what the byte range covers. */
  readonly coveredDigest: string;
  /** Digest of the document as it was given. */
  readonly documentDigest: string;
  readonly fieldName: string;
  readonly isBasic: boolean;
  readonly password: string | null;
  /** Of what readers say of the fields that are added. */
  readonly language: Locale['language'];
  /** The document had a signature before. */
  readonly isSigned: boolean;
  /** Reading the document takes only some milliseconds. */
  readonly isQuick: boolean;
}
