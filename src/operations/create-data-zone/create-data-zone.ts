import { z } from 'zod';
import { RequestId } from '../../fields/values.ts';
import { Refusal } from '../../result-codes.ts';
import { DataZoneSource, exampleSource, zoneOfSource } from '../fields/data-zone.ts';
import { operation } from '../operation.ts';

/** Makes a 2D-Doc data zone of an XML source. Nothing is signed. */
export const createDataZone = operation({
  path: 'creator/createDataZone',
  role: 'doc2d',
  spelling: 'majorCode',
  takesIdempotencyKey: false,
  summary: 'Makes a 2D-Doc data zone of an XML source; sign with code2DDocSignature signs it.',
  request: z.strictObject({ dataZoneSource: DataZoneSource, requestID: RequestId.optional() }),
  example: { dataZoneSource: { source: exampleSource } },
  answer: z.strictObject({ dataZone: z.base64().describe('the data zone, header and message, base64') }),
  async run({ dataZoneSource }, { caller, identities }) {
    const at = '/dataZoneSource/source';
    const { zone, annex } = zoneOfSource(dataZoneSource.source, at, { identities, tenant: caller.tenant, today: new Date() });
    if (annex !== undefined) {
      throw new Refusal('UNSUPPORTED', {
        at,
        message: 'annex: it is not part of the data zone, but follows the signature; createImage2DDoc puts it into the code',
      });
    }
    return Promise.resolve({ dataZone: Buffer.from(zone).toString('base64') });
  },
});
