import { globSync } from 'node:fs';
import { configDefaults, defineConfig, type ViteUserConfig } from 'vitest/config';
import { OutcomeReporter } from './test/reporter.ts';

/** Tests of minutes rather than seconds: kills, floods, big matrices. `npm run test:long` runs them. */
export const longTests = 'test/**/*.long.test.ts';

/** Files that try more among the long tests than in `npm test` (`test/support/repetitions.ts`): more repetitions, or a whole matrix. */
export const repeatedTests = [
  'test/audit/{account-changes,verify}.test.ts',
  'test/certificates/ocsp/ocsp-responders.test.ts',
  'test/cli/audit-export.test.ts',
  'test/fuzz/verifiers.test.ts',
  'test/http/hostile/made.test.ts',
  'test/{clients,keys}/find-at-once.test.ts',
  'test/keys/tampered-rows.test.ts',
  'test/service/restart.test.ts',
  'test/operations/csc/{hostile,parse-parameters}.test.ts',
  'test/operations/two-d-doc/{all-types,hostile-sources}.test.ts',
  'test/pdf/hostile.test.ts',
  'test/signatures/xades/hostile.test.ts',
  'test/token/{faults,proven-signatures}.test.ts',
  'test/twoddoc/{hostile,round-trip,picture/picture,source/valid-sources,symbol/symbol-properties}.test.ts',
  'test/xml/{canonical-properties,libxml2-differences}.test.ts',
];

/**
 * Files that use neither a service nor a token, and replace no module: they run one after the other in the same processes, which
 * saves loading the modules for each. `test/house/light-tests.test.ts` finds files that do not belong here.
 */
export const lightTests = globSync(
  [
    'test/{asn1,audit,certificates,conformance,fuzz,image,messages,outgoing,pdf,revocation,sealed-parts,signatures,threads}/**/*.test.ts',
    'test/{tar,timestamp,typefaces,verification,x509,xml,xmldsig,zip}/**/*.test.ts',
    'test/backup/{account-extent,created,created-owners,log-extent,token-comparison,restore-places,made-archives,named-files,operator-keys,owners,read-limits,reading,restore-files}.test.ts',
    'test/documents/{contents,deliveries,names,publications,walks}.test.ts',
    'test/documents/transfer/*.test.ts',
    'test/idempotency/{answer-forms,claims,settling-commit}.test.ts',
    'test/state/settlement.test.ts',
    'test/state/repositories/*.test.ts',
    'test/clients/find-at-once.test.ts',
    'test/service/{fair-queue,new-file}.test.ts',
    'test/cli/{audit-export,command-line}.test.ts',
    'test/config/fault-places.test.ts',
    'test/docs/{commands,configuration,links,security-model,signetctl}.test.ts',
    'test/operations/csc/parse-parameters.test.ts',
    'test/console/{answers,configuration-view,history,key-search,page-views,rules,shared-health,sign-ins}.test.ts',
    'test/http/{api,json,limits,tls}/*.test.ts',
    'test/http/documentation/openapi.test.ts',
    'test/http/public/{ocsp-path,published-pki,time-stamp-failures}.test.ts',
    'test/keys/{attempts-at-once,digest-binding,find-at-once,key-cache,key-rules,reserved,secret-pace,common-passwords}.test.ts',
    'test/operations/{limit-sizes,parse-request,signature-values}.test.ts',
    'test/token/{account-files,call-clock,dispatcher,host-link,host-questions,key-directory,module-profile}.test.ts',
    'test/twoddoc/{base32,hostile,round-trip,tables}.test.ts',
    'test/twoddoc/{code,picture,source,symbol,zone}/*.test.ts',
    'test/token/{purpose-check,purpose-structures,repeated-messages,retirement,signature-messages,wire-rules,wire,wrong-secret-rules}.test.ts',
  ],
  {
    cwd: import.meta.dirname,
    exclude: [
      longTests,
      'test/audit/required-syslog.test.ts',
      'test/certificates/{serial-numbers,ocsp/ocsp-responders}.test.ts',
      'test/http/{api/{early-answers,statuses},limits/{otp-pace,upload-limits},tls/service}.test.ts',
      // They measure the memory of their process.
      'test/zip/big-container.test.ts',
      'test/signatures/sessions/sessions.test.ts',
      'test/verification/native.test.ts',
    ],
  },
);

export const testTimeout = 120_000;

export const settings: NonNullable<ViteUserConfig['test']> = {
  globalSetup: ['test/support/service.ts'],
  pool: 'forks',
  // More than there are processors: much of a test is waiting for processes that start.
  maxWorkers: 4,
  testTimeout,
  hookTimeout: 240_000,
  // One second, which vitest would wait, is short on a busy machine.
  expect: { poll: { timeout: 60_000 } },
  execArgv: ['--disable-sigusr1', '--disable-warning=ExperimentalWarning'],
  // Each file loads its modules anew, and Node does that faster than vite's own loader.
  experimental: { viteModuleRunner: false },
};

/** Modules are loaded once for many files, for which vite's own loader is faster. */
const lightSettings = { ...settings, globalSetup: [], isolate: false, experimental: { viteModuleRunner: true } };

export default defineConfig({
  test: {
    reporters: [new OutcomeReporter()],
    projects: [
      { test: { ...lightSettings, name: 'light', include: lightTests } },
      {
        test: {
          ...settings,
          name: 'services',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, longTests, ...lightTests],
        },
      },
    ],
  },
});
