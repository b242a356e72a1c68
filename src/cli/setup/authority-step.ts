import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { giveRootMadeFiles } from '../../service/root-made-files.ts';
import { caImport } from '../ca/import.ts';
import { caInit } from '../ca/init.ts';
import { caRequest } from '../ca/request.ts';
import { writeDraft } from './draft.ts';
import { places } from './places.ts';
import { Authority } from './progress.ts';
import type { Step, StepContext, Waiting } from './step.ts';
import { publicUrlOf, shareFiles } from './shared-files.ts';

const Made = z.object({ certificateAuthorities: z.record(z.string(), Authority) });
const Requested = z.object({ request: z.string(), keyId: z.string() });

/** The issuing CA of the signing certificates. */
export const authorityStep: Step = {
  name: 'authority',
  title: 'Making the issuing CA',
  async run(context) {
    try {
      return context.progress.answers.authority === 'own' ? await ownHierarchy(context) : await outsideAuthority(context);
    } finally {
      giveRootMadeFiles(places.state);
      shareFiles(places.pki);
    }
  },
};

async function ownHierarchy({ progress }: StepContext): Promise<undefined> {
  // Of a run that ended before it noted what it had made.
  for (const name of readdirSync(places.pki)) rmSync(join(places.pki, name));
  const { country, organization } = progress.answers;
  const { json } = await caInit(writeDraft(progress), {
    ...{ directory: places.pki, country, organization },
    ...{ rootName: `${organization} Root CA`.slice(0, 64), issuingName: `${organization} Issuing CA`.slice(0, 64) },
    ...{ root: 'root', issuing: 'issuing', rootKeyType: 'P-384', issuingKeyType: 'P-256', rootYears: '20', issuingYears: '10' },
    ...publicUrlOf(progress.answers),
  });
  progress.keep({ certificateAuthorities: Made.parse(json).certificateAuthorities });
  return undefined;
}

async function outsideAuthority({ progress, options: { caCertificate, caChain } }: StepContext): Promise<Waiting | undefined> {
  const { country, organization } = progress.answers;
  const draft = writeDraft(progress);
  if (progress.values.requested === undefined) {
    for (const name of readdirSync(places.pki)) rmSync(join(places.pki, name));
    const { json } = await caRequest(draft, {
      ...{ name: 'issuing', directory: places.pki, country, organization },
      ...{ commonName: `${organization} Issuing CA`.slice(0, 64), keyType: 'P-256' },
    });
    progress.keep({ requested: Requested.parse(json) });
  }
  const { requested } = progress.values;
  if (requested === undefined) throw new Error('a request was made');
  if (caCertificate === undefined) {
    return {
      waits: `the certificate of the issuing CA: have your CA certify ${requested.request}, then run signetctl setup --ca-certificate FILE --ca-chain FILE...`,
    };
  }
  const { json } = await caImport(draft, {
    ...{ name: 'issuing', keyId: requested.keyId, certificate: caCertificate, chain: [...caChain], directory: places.pki },
    ...publicUrlOf(progress.answers),
  });
  progress.keep({ certificateAuthorities: Made.parse(json).certificateAuthorities });
  return undefined;
}
