import { accountDirectoryOf, type TokenConfig } from '../../config/token-config.ts';

const variable = 'SIGNETD_SERVICE_ACCOUNT';

/** Where a host keeps refused PINs. */
export interface PlaceOfRefusedPin {
  readonly directory: string;
  readonly whose: 'own' | 'service';
}

/**
 * Returns the environment of an operator's host, whose own directory ends with the command: it keeps
 * refused PINs with the service's host. Empty for the service's host.
 * @param directory that of the service's host
 */
export function refusedPinEnvironment(directory: string | undefined): NodeJS.ProcessEnv {
  return directory === undefined ? {} : { [variable]: directory };
}

export function placeOfRefusedPin(config: TokenConfig): PlaceOfRefusedPin {
  const ofService = process.env[variable];
  return ofService === undefined ? { directory: accountDirectoryOf(config), whose: 'own' } : { directory: ofService, whose: 'service' };
}
