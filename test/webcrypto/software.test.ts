import { webcrypto } from 'node:crypto';
import { Crypto } from '@peculiar/webcrypto';
import { signingContract, type Implementation } from './contract.ts';

// The same contract as the token's, so that it says what WebCrypto is and not what the provider happens to do.
signingContract("Node's WebCrypto", () => ({ crypto: webcrypto }));

const twin: Implementation = {
  crypto: new Crypto(),
  deviations: new Set(['error names', 'lengths', 'pairs without sign'] as const),
};
signingContract('@peculiar/webcrypto', () => twin);
