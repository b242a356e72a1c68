import { existsSync } from 'node:fs';
import type { Attribute, Handle, PKCS11 } from 'pkcs11js';
import { vi } from 'vitest';
import { findObjects } from '../../src/token/host/find-objects.ts';
import { ModuleProfile } from '../../src/token/host/module-profile.ts';
import { loadModule, openSession, pkcs11js, slotOf, type Session } from '../../src/token/host/session.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';

const softhsmPaths = [
  '/usr/lib/softhsm/libsofthsm2.so',
  '/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so',
  '/usr/lib/aarch64-linux-gnu/softhsm/libsofthsm2.so',
];

/** A profile with these quirks, and otherwise the plain one. */
export function profileWith(quirks: object = {}): ModuleProfile {
  return ModuleProfile.parse({ vendor: 'Test', tried: false, source: ['this test'], modulePaths: ['/module.so'], ...quirks });
}

/** What pkcs11js throws where a module answers with this code. */
export function pkcs11Error(code: number): Error {
  return Object.assign(new Error(`CKR_SOMETHING:${code}`), { code });
}

/** A SoftHSM token in this process, logged in: the host's own functions work on it, and a test sees what they call. A process has it once. */
export class DirectToken {
  readonly scratch: ScratchToken;
  readonly module: PKCS11;
  /** Of the module's file. */
  readonly path: string;
  readonly slot: Handle;
  session: Session;

  constructor() {
    this.scratch = scratchToken();
    process.env['SOFTHSM2_CONF'] = this.scratch.environment.SOFTHSM2_CONF;
    const path = softhsmPaths.find((candidate) => existsSync(candidate));
    if (path === undefined) throw new Error('SoftHSM is not installed');
    this.path = path;
    this.module = loadModule(path);
    this.slot = slotOf(this.module, 'test');
    this.session = openSession(this.module, this.slot);
    // The login lives as long as one session does: this one stays.
    const anchor = openSession(this.module, this.slot);
    this.module.C_Login(anchor.handle, pkcs11js.CKU_USER, this.scratch.pin);
  }

  /** The next call of this function is answered with the code. */
  failNext(name: FaultyCall, code: number): void {
    vi.spyOn(this.module, name).mockImplementationOnce(() => {
      throw pkcs11Error(code);
    });
  }

  /** Another session, which has no operation that was begun. */
  renewSession(): void {
    this.module.C_CloseSession(this.session.handle);
    this.session = openSession(this.module, this.slot);
  }

  /** Objects that have these attributes. */
  find(...template: Attribute[]): Handle[] {
    return findObjects(this.session, template);
  }

  /** Objects of a class with this CKA_ID. */
  count(objectClass: number, id: string): number {
    return this.find({ type: pkcs11js.CKA_CLASS, value: objectClass }, { type: pkcs11js.CKA_ID, value: Buffer.from(id, 'hex') }).length;
  }

  /** One attribute of an object. */
  read(object: Handle, type: number): Buffer | undefined {
    return this.module.C_GetAttributeValue(this.session.handle, object, [{ type }])[0]?.value;
  }

  remove(): void {
    vi.restoreAllMocks();
    this.module.C_Finalize();
    this.scratch.remove();
  }
}

type FaultyCall =
  | 'C_DestroyObject'
  | 'C_FindObjects'
  | 'C_GenerateKey'
  | 'C_GenerateKeyPair'
  | 'C_GetAttributeValue'
  | 'C_SetAttributeValue'
  | 'C_Sign'
  | 'C_SignInit'
  | 'C_Verify'
  | 'C_VerifyInit';
