import { z } from 'zod';
import { withoutIgnored } from '../../fields/ignored.ts';
import { exactlyOneOf } from '../../fields/documented.ts';
import { Base64, RequestId, Secret, Text } from '../../fields/values.ts';
import { Refusal } from '../../result-codes.ts';
import { drawnCode, pictureSettings, type PictureWish } from '../../twoddoc/code-picture.ts';
import { checkText, textMaxCharacters } from '../../twoddoc/picture/text-bitmap.ts';
import { refusing } from '../../twoddoc/two-d-doc-fault.ts';
import { DataZoneSource, exampleSource } from '../fields/data-zone.ts';
import { operation, type Context } from '../operation.ts';
import { checkSignedCode, signedZone, zoneToSign } from './signed-code.ts';

const DataZoneSignatureSource = withoutIgnored(
  'dataZoneSource',
  'dataZone',
  z
    .strictObject({
      password: Secret.describe('password of the key of the digital identity that the zone names; 1 to 1024 bytes'),
      dataZoneSource: DataZoneSource.optional().describe('source of the zone; ignored if dataZone is given'),
      dataZone: Base64.optional().describe('a ready-made zone: its bytes in base64 (RFC 4648, padded, no line breaks)'),
    })
    .meta({
      id: 'DataZoneSignatureSource',
      description: 'a data zone to be signed: dataZone, or else dataZoneSource',
      ...exactlyOneOf({ dataZoneSource: 'ZoneToMakeAndSign', dataZone: 'ZoneToSign' }, { dataZone: ['dataZoneSource'] }),
    }),
);

const TextPosition = z.enum(['TOP', 'RIGHT', 'BOTTOM', 'LEFT']).meta({ id: 'TextPosition', description: 'side of the symbol' });
const ImageFormat = z.enum(['PNG', 'TIFF']).meta({ id: 'ImageFormat', description: 'format of the picture' });

const CreateImageRequest = z.strictObject({
  image2DDocSource: withoutIgnored(
    'signedCode',
    'dataZoneSignatureSource',
    z
      .strictObject({
        dataZoneSignatureSource: DataZoneSignatureSource.optional().describe(
          'what is signed first; dataZone or dataZoneSource is required in it',
        ),
        signedCode: Base64.optional().describe(
          'a signed code: its bytes in base64 (RFC 4648, padded, no line breaks); ignored if dataZoneSignatureSource is given',
        ),
      })
      .meta({
        id: 'Image2DDocSource',
        description: 'dataZoneSignatureSource, or else signedCode',
        ...exactlyOneOf(
          { dataZoneSignatureSource: 'CodeToSignAndDraw', signedCode: 'CodeToDraw' },
          { dataZoneSignatureSource: ['signedCode'] },
        ),
      }),
  ),
  textOptions: z
    .strictObject({
      value: Text.optional().meta({ description: 'text beside the symbol; default: 2D-DOC', maxLength: textMaxCharacters }),
      position: TextPosition.optional().describe('side of the symbol; default: BOTTOM'),
    })
    .meta({ id: 'TextOptions', description: 'the text beside the symbol' })
    .optional(),
  imageFormat: ImageFormat.optional().describe('default: PNG'),
  requestID: RequestId.optional(),
});
type CreateImageRequest = z.output<typeof CreateImageRequest>;

const ImageAnswer = z.strictObject({
  width: z.int().nonnegative().describe('pixels, quiet zone and text included; 0 without an image'),
  height: z.int().nonnegative().describe('pixels; 0 without an image'),
  image: z.base64().optional().describe('the picture, base64: one bit a pixel, with its resolution'),
});
type ImageAnswer = z.output<typeof ImageAnswer>;

/** Draws a 2D-Doc code, which it may sign first (contract §9). */
export const createImage2DDoc = operation({
  path: 'creator/createImage2DDoc',
  role: 'doc2d',
  spelling: 'majorCode',
  takesIdempotencyKey: true,
  summary: 'Makes the picture of a 2D-Doc code, and signs its data zone first if asked to.',
  details:
    'The answer is 2/261 if the tenant has no digital identity with the identifiers in the header of the zone, if it may not sign the document type, or if its certificate is not valid on the date of the signature.',
  request: CreateImageRequest,
  example: {
    image2DDocSource: { dataZoneSignatureSource: { password: 'Jv2mZ0lq8xWc4s1tNfR3yQ', dataZoneSource: { source: exampleSource } } },
    imageFormat: 'PNG',
  },
  answer: ImageAnswer,
  failure: { width: 0, height: 0 },
  async run({ image2DDocSource, textOptions, imageFormat }, context) {
    const wish: PictureWish = {
      format: imageFormat ?? 'PNG',
      text: textOptions?.value ?? '2D-DOC',
      position: textOptions?.position ?? 'BOTTOM',
    };
    refusing('/textOptions/value', () => checkText(wish.text), 'FIELD_INVALID');
    const { dataZoneSignatureSource, signedCode } = checkedSource(image2DDocSource);
    if (dataZoneSignatureSource === undefined) {
      const at = '/image2DDocSource/signedCode';
      checkSignedCode(signedCode, at, context);
      return imageOf(signedCode, wish, at, context);
    }
    const zone = zoneToSign(dataZoneSignatureSource, context);
    const at = '/image2DDocSource/dataZoneSignatureSource';
    return signedZone(zone, dataZoneSignatureSource.password, context, async (code) => imageOf(code, wish, at, context));
  },
});

/** @throws {Refusal} DOCUMENT_INVALID if the code is too large for a symbol */
async function imageOf(code: Uint8Array, wish: PictureWish, at: string, { caller, config, threads }: Context): Promise<ImageAnswer> {
  const settings = pictureSettings(config, caller.tenant);
  const { content, width, height } = await drawnCode({ code, wish, settings, at }, threads);
  return { width, height, image: Buffer.from(content).toString('base64') };
}

type Source = CreateImageRequest['image2DDocSource'];
type CheckedSource =
  | { readonly dataZoneSignatureSource: NonNullable<Source['dataZoneSignatureSource']>; readonly signedCode?: undefined }
  | { readonly dataZoneSignatureSource: undefined; readonly signedCode: Uint8Array };

/**
 * Returns what counts of the source.
 * @throws {Refusal} FIELDS_INCONSISTENT if nothing is given to be drawn
 */
function checkedSource({ dataZoneSignatureSource, signedCode }: Source): CheckedSource {
  const at = '/image2DDocSource';
  if (dataZoneSignatureSource === undefined) {
    if (signedCode !== undefined) return { dataZoneSignatureSource, signedCode };
    throw new Refusal('FIELDS_INCONSISTENT', { at, message: 'dataZoneSignatureSource or signedCode is required' });
  }
  const { dataZone, dataZoneSource } = dataZoneSignatureSource;
  if (dataZone !== undefined || dataZoneSource !== undefined) return { dataZoneSignatureSource };
  throw new Refusal('FIELDS_INCONSISTENT', {
    at: `${at}/dataZoneSignatureSource`,
    message: 'dataZone or dataZoneSource is required',
  });
}
