import type { Insertion, InsertionPlace } from '../../xml/insertion.ts';
import type { XPath } from '../../xml/xpath.ts';
import type { HoldingReferences } from './earlier-signatures.ts';
import type { XadesParameters } from './xades-parameters.ts';
import type { XadesState } from './xades-state.ts';

/** Where an enveloped signature goes and what it signs. */
export interface EnvelopedParameters extends XadesParameters {
  /** Selects the element at which the signature is placed; undefined: the root. */
  readonly position: XPath | undefined;
  readonly place: InsertionPlace;
  /** Id of the signed element; undefined: the whole document is signed. */
  readonly signedNode: string | undefined;
  /** XPath filter of the signed content. */
  readonly transformation: XPath | undefined;
  /** JSON Pointer of the member that these parameters come from. */
  readonly at: string;
}

/** State between the two steps. */
export interface EnvelopedState extends XadesState {
  readonly place: Insertion;
  /** Number of elements that begin before the signature. */
  readonly elementsBefore: number;
  /** References of existing signatures that hold. */
  readonly earlier: HoldingReferences;
  /** JSON Pointer of the XPath that filters the signed content; null if there is none. */
  readonly xpathAt: string | null;
}
