import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { writePdf } from './pdf-file.ts';
import { ServiceClient } from './service-client.ts';
import { residentMebibytesByPart } from './signetd-processes.ts';
import { deleteStored, upload } from './stored-file.ts';
import type { Place } from './work.ts';

const megabytes = 100;
const rounds = 3;
const sampleMs = 10;
const restMs = 2000;

/** A large PDF, from the transfer store into the transfer store. */
export interface LargePdf {
  readonly megabytes: number;
  /** The shortest of some rounds. */
  readonly seconds: number;
  /** Memory of the daemon beyond that before. */
  readonly mebibytesMore: number;
}

const Answer = z.object({ evidenceObject: z.object({ document: z.object({ FTMData: z.object({ fileID: z.string() }) }) }) });

/** Signs a large PDF a few times. */
export async function largePdf({ quickstart, scratch, service: directory }: Required<Place>): Promise<LargePdf> {
  const { ftmRoot } = quickstart;
  if (ftmRoot === undefined) throw new Error('the quickstart has no transfer store');
  const service = new ServiceClient(quickstart, quickstart.clients.app);
  const keyReference = await service.createKey();
  const path = join(scratch, 'large.pdf');
  writePdf(path, megabytes * 1e6);
  const { fileID, fileSize } = await upload(quickstart, ftmRoot, path);
  const body = {
    ...{ keyReference, parameters: { XP7Signature: { XP7Format: 'PXP_7' } } },
    inputDocuments: [{ ID: 'd', FTMData: { fileID, fileSize } }],
    optionalInputs: { evidenceOutput: { outputMode: 'FTM' } },
  };
  await delay(restMs);
  const before = residentMebibytesByPart(directory).daemon;
  let peak = before;
  const watch = setInterval(() => (peak = Math.max(peak, residentMebibytesByPart(directory).daemon)), sampleMs);
  let best = Infinity;
  try {
    for (let round = 0; round < rounds; round += 1) {
      const begun = performance.now();
      const answer = Answer.parse(await service.answer('signature/sign', body));
      best = Math.min(best, (performance.now() - begun) / 1000);
      await deleteStored(quickstart, ftmRoot, answer.evidenceObject.document.FTMData.fileID);
    }
  } finally {
    clearInterval(watch);
  }
  await deleteStored(quickstart, ftmRoot, fileID);
  await service.removeKey(keyReference);
  return { megabytes, seconds: best, mebibytesMore: peak - before };
}
