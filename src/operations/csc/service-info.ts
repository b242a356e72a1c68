import { z } from 'zod';
import type { Config } from '../../config/config.ts';
import type { Levels } from '../../signatures/levels/level-order.ts';
import { cscOperation } from './csc-operation.ts';
import { ecdsaAlgorithms, language, rsaAlgorithms } from './credential-info.ts';
import { Language } from './parameters.ts';

const specs = 'version of the standard';
const common = {
  name: z.string().describe('name of the service'),
  logo: z.string().describe('URI of its logo'),
  region: z.string().describe('country of the service, ISO 3166-1 alpha-2'),
  lang: z.string().describe('language of the answers'),
  description: z.string().describe('what the service is'),
  authType: z.array(z.literal('TLS')).describe('a client is known by its certificate alone'),
  methods: z.array(z.string()).describe('the methods that are offered'),
};

const methodsOfBoth = [
  ...['info', 'credentials/list', 'credentials/info', 'credentials/authorize', 'credentials/extendTransaction'],
  ...['signatures/signHash', 'signatures/timestamp'],
] as const;
/** The methods of each version. */
export const methods = {
  v1: [...methodsOfBoth, 'credentials/sendOTP'],
  v2: [...methodsOfBoth, 'credentials/sendOTP', 'credentials/getChallenge', 'signatures/signDoc'],
} as const;

/** A picture of 1 by 1 pixel: the standard demands a logo of a service that has none. */
const noLogo = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=';

function described({ csc }: Pick<Config, 'csc'>): Config['csc'] & { readonly logo: string } {
  return { ...csc, logo: csc.logo ?? noLogo };
}

/** Without an authority in the configuration there are no time-stamps. */
function offered(all: readonly string[], { hasAuthorities }: Pick<Levels, 'hasAuthorities'>): string[] {
  return all.filter((method) => hasAuthorities || method !== 'signatures/timestamp');
}

const summary = 'Describes the service and the methods that it offers.';
const InfoRequest = z.strictObject({ lang: Language });

/** `info` of version 1 (Cloud Signature Consortium API 1.0.4.0, clause 11.1). */
export const infoV1 = cscOperation({
  version: 'v1',
  method: 'info',
  summary,
  request: InfoRequest,
  example: {},
  answer: z.strictObject({ specs: z.literal('1.0.4.0').describe(specs), ...common }),
  async run(_request, { config, levels }) {
    return Promise.resolve({
      specs: '1.0.4.0' as const,
      ...described(config),
      lang: language,
      authType: ['TLS' as const],
      methods: offered(methods.v1, levels),
    });
  },
});

const conformanceLevels = ['Ades-B-B', 'Ades-B-T', 'Ades-B-LT', 'Ades-B-LTA'];

/** `info` of version 2 (2.0.0.2, clause 11.1). */
export const infoV2 = cscOperation({
  version: 'v2',
  method: 'info',
  summary,
  request: InfoRequest,
  example: {},
  answer: z.strictObject({
    specs: z.literal('2.0.0.2').describe(specs),
    ...common,
    asynchronousOperationMode: z.literal(false).describe('there is no asynchronous operation'),
    validationInfo: z.literal(false).describe('signatures/signDoc returns no validation data beside the signature'),
    signAlgorithms: z
      .strictObject({ algos: z.array(z.string()).describe('object identifiers') })
      .meta({ id: 'CscSignatureAlgorithms', description: 'the signature algorithms of all credentials' }),
    signature_formats: z
      .strictObject({
        formats: z.array(z.string()).describe('C: CAdES, X: XAdES, P: PAdES'),
        envelope_properties: z
          .array(z.array(z.string()))
          .describe('for each format, where signature and document may be, and what it is for'),
      })
      .meta({ id: 'CscFormats', description: 'formats of signatures/signDoc' }),
    conformance_levels: z.array(z.string()).describe('levels of signatures/signDoc'),
  }),
  async run(_request, { config, levels }) {
    return Promise.resolve({
      ...{
        specs: '2.0.0.2' as const,
        ...described(config),
        lang: language,
        authType: ['TLS' as const],
        methods: offered(methods.v2, levels),
      },
      ...{ asynchronousOperationMode: false as const, validationInfo: false as const },
      signAlgorithms: { algos: [...rsaAlgorithms, ...ecdsaAlgorithms] },
      signature_formats: {
        formats: ['C', 'X', 'P'],
        envelope_properties: [
          ['Detached', 'Attached'],
          ['Enveloped', 'Enveloping', 'Detached'],
          ['Certification', 'Revision'],
        ],
      },
      conformance_levels: levels.hasAuthorities ? conformanceLevels : conformanceLevels.slice(0, 1),
    });
  },
});
