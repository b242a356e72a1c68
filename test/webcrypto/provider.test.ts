import { signingContract } from './contract.ts';
import { scratchProvider } from './scratch-provider.ts';

signingContract('the token provider', scratchProvider());
