/** Colours of the pixels of a picture. */
export type Colours =
  | { readonly space: 'GRAY' | 'RGB' }
  /** `isInverted`: 0 is full ink and the largest value none, as Adobe's programs write JPEG. */
  | { readonly space: 'CMYK'; readonly isInverted: boolean }
  /** Three bytes for each index. */
  | { readonly space: 'INDEXED'; readonly palette: Uint8Array };

/** How the bytes of a picture are encoded, in terms that PDF knows too. */
export type PictureEncoding =
  | { readonly kind: 'RAW' }
  | { readonly kind: 'JPEG' }
  /** A zlib stream of rows that each begin with the number of a filter, as in PNG. */
  | { readonly kind: 'PNG_ROWS' };

/** A picture, as near to its file as possible: bytes that need not be decoded are not. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly colours: Colours;
  readonly bitsPerComponent: 1 | 2 | 4 | 8;
  readonly encoding: PictureEncoding;
  readonly bytes: Uint8Array;
  /** A byte for each pixel: 0 is transparent, 255 opaque. Absent: all pixels are opaque. */
  readonly alpha?: Uint8Array | undefined;
}
