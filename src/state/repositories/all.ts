import type { Transaction } from 'kysely';
import type { Schema } from '../schema.ts';
import { auditHead, auditKeys, findAuditKey, keepAuditHead, takeAuditKey } from './audit.ts';
import { addAuditRecord, deleteAuditRecords, listAuditRecords } from './audit-outbox.ts';
import { addClient, listClients, registerClient, revokeClient } from './clients.ts';
import { recordFailure, unlockKey } from './attempts.ts';
import { claimCrl, crlState, giveUpCrl, publishCrl, publishedCrl } from './crls.ts';
import {
  addAnswerPart,
  claimAnswer,
  deleteEndedAnswers,
  deleteLooseParts,
  endAllClaims,
  findAnswerPart,
  keepAnswer,
  releaseClaim,
  renewClaims,
} from './kept-answers.ts';
import { isIdentityTokenUsed, pruneIdentityTokens, useIdentityToken } from './identity-tokens.ts';
import { announce, finishStep, journal, takeOverStep, takeOverSteps } from './key-journal.ts';
import { fillPool, poolLevels, takeFromPool } from './key-pool.ts';
import { changeKeyState, countKeys, findIssuingChain, findKey, insertKey, listKeys } from './keys.ts';
import { ocspResponders, retireOcspResponders, serialStatuses, takeOcspResponder } from './ocsp.ts';
import { claimMacKey, countSecrets, findMacKeyCheck, keepMacKeyCheck, releaseMacKey } from './mac-key.ts';
import { putOtp } from './otps.ts';
import { probe } from './probe.ts';
import { findCertificate, releaseHold, revoke } from './revocations.ts';
import {
  addSession,
  addSessionPart,
  closeSession,
  deleteEndedSessions,
  deleteLooseSessionParts,
  dropSession,
  findSession,
  findSessionPart,
  sessionStored,
} from './signature-sessions.ts';
import { findServiceKey, takeServiceKey } from './service-keys.ts';
import {
  beginTransfer,
  endedTransfers,
  endTransfer,
  endTransfersOf,
  findTransfer,
  forgetTransfer,
  growTransfer,
  knownTransfers,
  renewTransfers,
  storeTransfer,
  transferShares,
} from './transfer-files.ts';
import { endReservations, reserveUse, settleUse } from './uses.ts';

/** Every operation on the state store. Each runs whole, in a transaction, where the database is. */
export const repositories = {
  auditHead,
  auditKeys,
  findAuditKey,
  takeAuditKey,
  keepAuditHead,
  addAuditRecord,
  deleteAuditRecords,
  listAuditRecords,
  addClient,
  listClients,
  registerClient,
  addAnswerPart,
  addSession,
  addSessionPart,
  closeSession,
  deleteEndedSessions,
  deleteLooseSessionParts,
  dropSession,
  findSession,
  findSessionPart,
  sessionStored,
  revokeClient,
  announce,
  claimAnswer,
  deleteEndedAnswers,
  deleteLooseParts,
  endAllClaims,
  findAnswerPart,
  findIssuingChain,
  findKey,
  findServiceKey,
  finishStep,
  changeKeyState,
  countKeys,
  endReservations,
  fillPool,
  insertKey,
  isIdentityTokenUsed,
  journal,
  keepAnswer,
  listKeys,
  poolLevels,
  probe,
  pruneIdentityTokens,
  putOtp,
  recordFailure,
  releaseClaim,
  renewClaims,
  reserveUse,
  settleUse,
  takeFromPool,
  takeOverStep,
  takeOverSteps,
  claimCrl,
  crlState,
  findCertificate,
  giveUpCrl,
  ocspResponders,
  publishCrl,
  publishedCrl,
  releaseHold,
  retireOcspResponders,
  revoke,
  serialStatuses,
  takeOcspResponder,
  takeServiceKey,
  unlockKey,
  beginTransfer,
  endedTransfers,
  endTransfer,
  endTransfersOf,
  findTransfer,
  forgetTransfer,
  growTransfer,
  knownTransfers,
  renewTransfers,
  storeTransfer,
  transferShares,
  claimMacKey,
  countSecrets,
  findMacKeyCheck,
  keepMacKeyCheck,
  releaseMacKey,
  useIdentityToken,
};

export type RepositoryName = keyof typeof repositories;

/** Those of one statement that change nothing: they need no transaction, and wait for no commit. */
export const readOnlyOperations: ReadonlySet<RepositoryName> = new Set<RepositoryName>([
  'countKeys',
  'crlState',
  'findCertificate',
  'findAnswerPart',
  'findIssuingChain',
  'findKey',
  'isIdentityTokenUsed',
  'findSession',
  'findSessionPart',
  'journal',
  'listAuditRecords',
  'listClients',
  'ocspResponders',
  'serialStatuses',
  'publishedCrl',
  'poolLevels',
  'listKeys',
  'findTransfer',
  'knownTransfers',
  'transferShares',
]);

/** A repository operation as callers see it: its argument, and its answer. */
export type RepositoryArgument<N extends RepositoryName> = (typeof repositories)[N] extends (db: Transaction<Schema>) => unknown
  ? undefined
  : Parameters<(typeof repositories)[N]>[1];
export type RepositoryResult<N extends RepositoryName> = Awaited<ReturnType<(typeof repositories)[N]>>;
