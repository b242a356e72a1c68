import { createHash } from 'node:crypto';
import type { AuditDetails } from '../../audit/audited-request.ts';
import type { IdentityProvider } from '../../config/identity-provider-config.ts';
import { Refusal } from '../../result-codes.ts';
import type { StateStore } from '../../state/state-store.ts';
import type { Step } from '../../state/step.ts';
import type { Logger } from '../../telemetry/log.ts';
import { claimsOf, parseCompact, refusedToken, type CompactToken, type ParseJson } from './compact.ts';
import { requestedBy, type RequestedSubject } from './claim-mapping.ts';
import { decryptToken, passwordIterations, passwordWithout } from './decrypt.ts';
import { readProvider, type Provider } from './configured-providers.ts';
import { usedToken, UsedTokens } from './used-tokens.ts';
import { verifyToken } from './verify-token.ts';

/** Characters of a token's identifier kept in the audit log; its issuer chooses it. */
const auditedIdCharacters = 128;

/** A token as in the interface's `JWT`. */
export interface GivenToken {
  readonly token: string;
  readonly password?: string | undefined;
}

/** The request of a verified token. */
export interface TokenRequest {
  readonly requested: RequestedSubject;
  /** Steps for the commit that makes the key: they use up a single-use token. */
  readonly steps: readonly Step[];
}

export interface IdentityProviderOptions {
  readonly store: StateStore;
  readonly log: Logger;
  readonly parseJson: ParseJson;
}

/**
 * The identity providers of all tenants, whose tokens name the subjects of certificates (contract
 * §7).
 */
export class IdentityProviders {
  readonly #parseJson: ParseJson;
  readonly #providers: ReadonlyMap<string, Provider>;
  readonly #used: UsedTokens;

  /**
   * `previous`: the providers before a reload; fetched keys of unchanged providers are kept.
   * @throws {ConfigError} if a file is invalid
   */
  constructor(configured: Readonly<Record<string, IdentityProvider>>, options: IdentityProviderOptions, previous?: IdentityProviders) {
    this.#parseJson = options.parseJson;
    this.#used = new UsedTokens(options.store);
    this.#providers = new Map(
      Object.entries(configured).map(([name, config]) => {
        const before = previous === undefined ? undefined : previous.#providers.get(name);
        return [name, readProvider(name, config, { ...options, previous: before })];
      }),
    );
  }

  /**
   * Decrypts and verifies a token of one of the tenant's providers, and returns the certificate
   * that its claims request.
   * @throws {Refusal} UNSUPPORTED without a provider; FIELD_INVALID if it is not a token;
   *   ISSUANCE_REFUSED for its contents; FIELD_MISSING and FIELDS_INCONSISTENT for its password
   */
  async read(
    given: GivenToken,
    tenant: { readonly identityProviders: readonly string[]; readonly defaultCountry: string | undefined },
    audit: Pick<AuditDetails, 'identityToken'>,
  ): Promise<TokenRequest> {
    const providers = tenant.identityProviders.flatMap((name) => this.#providers.get(name) ?? []);
    if (providers.length === 0) {
      throw new Refusal('UNSUPPORTED', {
        at: '/certificationRequestInfo/JWT',
        message: 'no identity provider is configured for the tenant; use PKCS10',
      });
    }
    const digest = `sha256:${createHash('sha256').update(given.token).digest('hex')}`;
    audit.identityToken = { digest };
    const outer = parseCompact(given.token, this.#parseJson);
    const token = outer.kind === 'signed' ? signedAlone(outer, given) : await this.#opened(outer, given, providers);
    const { iss } = claimsOf(token, this.#parseJson);
    const provider = providers.find(({ config }) => config.issuer === iss);
    if (provider === undefined) throw refusedToken('the issuer (iss) of the token is not an identity provider of this tenant');
    const { config } = provider;
    if ((passwordIterations(outer) ?? 0) > config.passwordIterationsMax) {
      throw refusedToken('the token is encrypted with a password, with more PBKDF2 iterations (p2c) than its provider may use');
    }
    const { claims, id, endsAtSeconds } = await verifyToken(token, provider.keys, config);
    const shownId = id?.slice(0, auditedIdCharacters).toWellFormed();
    const shown = { digest, issuer: config.issuer, ...(shownId === undefined ? {} : { id: shownId }) };
    audit.identityToken = shown;
    const requested = requestedBy(claims, config.claims, tenant.defaultCountry);
    if (!config.oneTime || id === undefined) return { requested, steps: [] };
    const unique = { issuer: config.issuer, id, endsAtSeconds: endsAtSeconds + config.clockToleranceSeconds };
    await this.#used.check(unique);
    audit.identityToken = { ...shown, used: usedToken(unique) };
    return { requested, steps: [this.#used.use(unique)] };
  }

  /**
   * Returns the signed token in an encrypted one. Encryption alone does not authenticate: anybody
   * can encrypt to a public key.
   */
  async #opened(outer: CompactToken, { password }: GivenToken, providers: readonly Provider[]): Promise<CompactToken> {
    const text = await decryptToken(outer, password, {
      keys: providers.flatMap(({ decryptionKeys }) => decryptionKeys),
      passwordIterationsMax: Math.max(...providers.map(({ config }) => config.passwordIterationsMax)),
    });
    if (!/^[\w-]+\.[\w-]+\.[\w-]*$/.test(text)) throw refusedToken('the encrypted token does not contain a signed token');
    return parseCompact(text, this.#parseJson);
  }
}

/**
 * Returns a token that is signed but not encrypted.
 * @throws {Refusal} FIELDS_INCONSISTENT if there is a password
 */
function signedAlone(token: CompactToken, { password }: GivenToken): CompactToken {
  if (password !== undefined) throw passwordWithout('the token is not encrypted');
  return token;
}
