import type { Handle } from 'pkcs11js';
import { changeIsRefused } from '../pkcs11-faults.ts';
import type { ClaimOutcome } from '../token.ts';
import { isOurLabel } from './key-templates.ts';
import { pkcs11Code, pkcs11js, type Session } from './session.ts';

/** Marks a key as handed out, by its label (CKA_LABEL). The same claim may come twice, after a host that died over the first. */
export function claimKey({ module, handle }: Session, key: Handle, claim: string): ClaimOutcome {
  const [attribute] = module.C_GetAttributeValue(handle, key, [{ type: pkcs11js.CKA_LABEL }]);
  const label = Buffer.isBuffer(attribute?.value) ? attribute.value.toString('utf8') : attribute?.value;
  const claimed = `signetd in use ${claim}`;
  if (label === claimed) return 'claimed';
  if (typeof label !== 'string' || !isOurLabel(label)) return 'taken';
  try {
    module.C_SetAttributeValue(handle, key, [{ type: pkcs11js.CKA_LABEL, value: claimed }]);
    return 'claimed';
  } catch (error) {
    if (changeIsRefused(pkcs11Code(error))) return 'unmarkable';
    throw error;
  }
}
