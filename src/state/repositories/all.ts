/**
 * All operations on the state store, by repository. Each runs as a whole, in a transaction, on the
 * database thread.
 */
export { unlockKey } from './attempts.ts';
export {
  addAuditRecord,
  auditHead,
  auditHeads,
  auditKeys,
  deleteAuditRecords,
  findAuditKey,
  keepAuditHead,
  listAuditRecords,
  replaceAuditHead,
  takeAuditKey,
} from './audit.ts';
export {
  countFailuresAgain,
  dropOtps,
  endKeyAgain,
  forgetRevocation,
  leaveKeyAlone,
  lockForOperator,
  releaseAgain,
  removeIdentityAgain,
  revokeAgain,
  revokeClientAgain,
  useIdentityTokenAgain,
  withdrawCrls,
} from './catching-up.ts';
export {
  addClient,
  admitKey,
  clientCertificatesOf,
  listClients,
  listRevokedClients,
  noteClientCertificate,
  registerClient,
  revokeClient,
} from './clients.ts';
export { claimCrl, countUnexpired, crlState, giveUpCrl, publishCrl, publishedCrl } from './crls.ts';
export { findIdentityKey, identityKeyAt, insertIdentityKey, listIdentityKeys, removeIdentityKey } from './identity-keys.ts';
export { isIdentityTokenUsed, pruneIdentityTokens, useIdentityToken } from './identity-tokens.ts';
export {
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
export { allKeptBytes, gatherKeptBytes } from './kept-bytes.ts';
export { announce, finishStep, journal, probe, takeOverStep, takeOverSteps } from './key-journal.ts';
export { fillPool, poolKeys, poolLevels, takeFromPool } from './key-pool.ts';
export { changeKeyState, countKeys, countUnsealedKeys, destroyedAmong, findIssuingChain, findKey, insertKey, listKeys } from './keys.ts';
export { addMacKey, countMacDependents, endMacKey, formerSeals, listMacKeys, pooledKey, renewSecrets, reseal } from './mac-generations.ts';
export { claimMacKey, countSecrets, keepMacKeyCheck, releaseMacKey } from './mac-key.ts';
export { ocspResponders, retireOcspResponders, serialStatuses, takeOcspResponder } from './ocsp.ts';
export { countOpenData, putOtp } from './otps.ts';
export { countLeft, leaveToken, namesOnToken } from './token-change.ts';
export {
  addPublication,
  deleteEndedPublications,
  duePublications,
  endPublication,
  findPublication,
  keepPublishedNames,
} from './publications.ts';
export { findCertificate, releaseHold, revoke } from './revocations.ts';
export { countWrongSecrets, findSecretPaces } from './secret-paces.ts';
export { countSealed, endSealingKey, replaceSealingKey, sealingKeys } from './sealing-keys.ts';
export { findServiceKey, takeServiceKey } from './service-keys.ts';
export {
  addSession,
  addSessionPart,
  closeSession,
  countSessions,
  deleteEndedSessions,
  deleteLooseSessionParts,
  dropSession,
  findSession,
  findSessionPart,
  sessionShares,
  sessionStored,
} from './signature-sessions.ts';
export {
  beginTransfer,
  endTransfer,
  endTransfersOf,
  endedTransfers,
  findTransfer,
  forgetTransfer,
  growTransfer,
  knownTransfers,
  publishTransfer,
  renewTransfers,
  stageTransfer,
  storeTransfer,
  transferShares,
  withdrawTransfer,
} from './transfer-files.ts';
export { endReservations, reserveUse, settleUse } from './uses.ts';
