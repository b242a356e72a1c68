import { z } from 'zod';
import { isKeyReference, type KeyRecord, type KeyReferenceId } from '../../keys/key-record.ts';
import { Refusal } from '../../result-codes.ts';
import { Text } from '../../fields/values.ts';
import type { Context } from '../operation.ts';
import { credentialNames, credentialStatus, isListed } from './credential.ts';
import { credentialInfoV2, CredentialInfoV2, wantedFields } from './credential-info.ts';
import { cscOperation } from './csc-operation.ts';
import { invalidRequest } from './errors.ts';
import { ClientData, Language } from './parameters.ts';

/** The most credentials of one answer. */
const pageMax = 100;
/** Keys that one request looks at, and of which it reads: few may be wanted, and the client goes on from there. */
const lookedMax = 1000;
const readMax = 200;

const paging = {
  maxResults: z.int().min(1).optional().describe(`the most credentials of the answer; default and upper limit: ${pageMax}`),
  pageToken: Text.optional().describe('nextPageToken of the answer before'),
};

const UserId = Text.optional().describe('must be absent or null: a client has the credentials of its tenant, whoever their subjects are');

const ListRequestV1 = z.strictObject({ userID: UserId, ...paging, clientData: ClientData });
const ListRequestV2 = z.strictObject({
  ...ListRequestV1.shape,
  credentialInfo: z.boolean().optional().describe('whether the answer describes each credential, as credentials/info does; default: false'),
  ...wantedFields,
  onlyValid: z.boolean().optional().describe('whether the answer has only credentials that can sign now; default: false'),
  lang: Language,
});

const answerFields = {
  credentialIDs: z.array(z.string()).describe('the credentials: references of keys, or the names that the operator gave them'),
  nextPageToken: z.string().optional().describe('pageToken for the credentials that follow; absent: there are no more'),
};

/** `credentials/list` of version 1 (Cloud Signature Consortium API 1.0.4.0, clause 11.4). */
export const credentialsListV1 = cscOperation({
  version: 'v1',
  method: 'credentials/list',
  summary: "Lists the credentials: the tenant's keys.",
  request: ListRequestV1,
  example: { maxResults: 10 },
  answer: z.strictObject(answerFields),
  async run({ userID, ...page }, context) {
    checkNoUser(userID);
    const { credentialIDs, nextPageToken } = await listed(page, context);
    return { credentialIDs, ...(nextPageToken === undefined ? {} : { nextPageToken }) };
  },
});

/** `credentials/list` of version 2 (2.0.0.2, clause 11.4), with the paging of version 1. */
export const credentialsListV2 = cscOperation({
  version: 'v2',
  method: 'credentials/list',
  summary: "Lists the credentials: the tenant's keys.",
  request: ListRequestV2,
  example: { credentialInfo: true, certificates: 'chain', certInfo: true, authInfo: true, onlyValid: true },
  answer: z.strictObject({
    ...answerFields,
    credentialInfos: z
      .array(
        z
          .strictObject({
            credentialID: z.string().describe('reference of the key, or the name that the operator gave it'),
            ...CredentialInfoV2.shape,
          })
          .meta({ id: 'CscCredential', description: 'a credential' }),
      )
      .optional()
      .describe('what credentials/info answers for each; with credentialInfo'),
    onlyValid: z.literal(true).optional().describe('there are only credentials that can sign now'),
  }),
  async run({ userID, credentialInfo = false, onlyValid = false, maxResults, pageToken, ...wanted }, context) {
    checkNoUser(userID);
    const isRight = async (reference: KeyReferenceId): Promise<boolean> => {
      const key = await soundKey(reference, context);
      return key !== undefined && (!onlyValid || credentialStatus(key, context).key === 'enabled');
    };
    const { references, credentialIDs, nextPageToken } = await listed(
      { maxResults, pageToken, isWanted: credentialInfo || onlyValid ? isRight : undefined },
      context,
    );
    const infos = [];
    for (const [index, reference] of (credentialInfo ? references : []).entries()) {
      const key = await context.keys.find(context.caller.tenant, reference);
      infos.push({ credentialID: credentialIDs[index] ?? reference, ...credentialInfoV2(key, wanted, context) });
    }
    return {
      credentialIDs,
      ...(nextPageToken === undefined ? {} : { nextPageToken }),
      ...(credentialInfo ? { credentialInfos: infos } : {}),
      ...(onlyValid ? { onlyValid } : {}),
    };
  },
});

interface Page {
  readonly maxResults?: number | undefined;
  readonly pageToken?: string | undefined;
  /** Default: every key is. */
  readonly isWanted?: ((reference: KeyReferenceId) => Promise<boolean>) | undefined;
}

interface Listed {
  readonly references: readonly KeyReferenceId[];
  readonly credentialIDs: string[];
  readonly nextPageToken: string | undefined;
}

/** @throws {Refusal} FIELD_INVALID */
async function listed({ maxResults = pageMax, pageToken, isWanted }: Page, context: Context): Promise<Listed> {
  if (pageToken !== undefined && !isKeyReference(pageToken))
    throw invalidRequest('Invalid parameter pageToken', 'FIELD_INVALID', '/pageToken');
  const { caller, keys } = context;
  const limit = Math.min(maxResults, pageMax);
  const references: KeyReferenceId[] = [];
  let after = pageToken?.toLowerCase();
  let isEnd = false;
  let [looked, read] = [0, 0];
  const mayGoOn = (): boolean => references.length < limit && looked < lookedMax && read < readMax;
  while (mayGoOn() && !isEnd) {
    const rows = await keys.list(caller.tenant, { after, limit: pageMax });
    isEnd = rows.length < pageMax;
    for (const [index, row] of rows.entries()) {
      after = row.reference;
      looked += 1;
      if (isListed(row)) {
        if (isWanted !== undefined) read += 1;
        if (isWanted === undefined || (await isWanted(row.reference))) references.push(row.reference);
      }
      if (mayGoOn()) continue;
      isEnd &&= index === rows.length - 1;
      break;
    }
  }
  const names = credentialNames(context);
  const credentialIDs = references.map((reference) => names.get(reference) ?? reference);
  return { references, credentialIDs, nextPageToken: isEnd ? undefined : after };
}

/** Returns a key; undefined if its row is not as the service wrote it. */
async function soundKey(reference: KeyReferenceId, { keys, caller }: Context): Promise<KeyRecord | undefined> {
  try {
    return await keys.find(caller.tenant, reference);
  } catch (error) {
    if (error instanceof Refusal && error.code === 'ACTIVATION_FAILED') return undefined;
    throw error;
  }
}

/** @throws {Refusal} */
function checkNoUser(userID: string | undefined): void {
  if (userID !== undefined) throw invalidRequest('userID parameter MUST be null', 'FIELD_INVALID', '/userID');
}
