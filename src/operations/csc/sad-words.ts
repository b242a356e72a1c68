import { expiredData } from '../../keys/activation-data.ts';
import type { RefusalWords } from './errors.ts';

/** What methods that take activation data say about their refusals. */
export const sadWords: RefusalWords = {
  activation: ({ text }) => ['invalid_request', text === expiredData ? 'SAD expired' : 'Invalid parameter SAD'],
  notAuthorised: 'Hash is not authorized by the SAD',
};
