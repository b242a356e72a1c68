/*
 * Verification of signature values with the OpenSSL that Node contains and exports. Node itself
 * verifies only over data, with the same hash for both uses in RSASSA-PSS; a value over a digest
 * that was computed elsewhere needs EVP_PKEY_verify(3).
 *
 * Every function may be called in any thread that has loaded the module: threads share nothing.
 * Arguments of the wrong type cause a TypeError. A value that does not verify, for whatever reason,
 * is `false` and leaves nothing in OpenSSL's error queue.
 */
#define NAPI_VERSION 8
#include <limits.h>
#include <node_api.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <stdbool.h>
#include <stdint.h>

#include "bytes.h"

/* The numbers are those of src/verification/native.ts. */
enum scheme { RSA_PKCS1, RSA_PSS, ECDSA, DSA_SCHEME, SCHEMES };

static const EVP_MD *(*const HASHES[])(void) = {EVP_sha1, EVP_sha224, EVP_sha256, EVP_sha384, EVP_sha512};
enum { HASH_COUNT = sizeof HASHES / sizeof HASHES[0] };

/*
 * Approximate size of a key with OpenSSL's precomputations: the garbage collector knows only the
 * wrapping object.
 */
enum { KEY_BYTES = 4096 };

/* Tags an object that wraps an EVP_PKEY, so that no other is mistaken for one. */
static const napi_type_tag KEY_TAG = {0x7369676e65746420ULL, 0x7075626c6963206bULL};

static bool read_key(napi_env env, napi_value value, EVP_PKEY **key) {
  napi_valuetype type;
  bool is_key = false;
  void *data = NULL;
  if (napi_typeof(env, value, &type) != napi_ok || type != napi_object ||
      napi_check_object_type_tag(env, value, &KEY_TAG, &is_key) != napi_ok || !is_key ||
      napi_unwrap(env, value, &data) != napi_ok || data == NULL) {
    return false;
  }
  *key = data;
  return true;
}

static bool read_index(napi_env env, napi_value value, uint32_t count, uint32_t *index) {
  return napi_get_value_uint32(env, value, index) == napi_ok && *index < count;
}

static void free_key(napi_env env, void *data, void *hint) {
  int64_t total;
  (void)hint;
  EVP_PKEY_free(data);
  napi_adjust_external_memory(env, -KEY_BYTES, &total);
}

/*
 * The limits of src/verification/key-bounds.ts, which also knows the curves. A verification takes a
 * time that grows with the square of the modulus and with the exponent.
 */
enum { MODULUS_BITS_MAX = 8192, EXPONENT_BITS_MAX = 32 };

static bool has_usual_numbers(const EVP_PKEY *key) {
  int kind = EVP_PKEY_get_base_id(key);
  if (kind != EVP_PKEY_RSA && kind != EVP_PKEY_RSA_PSS) return true;
  BIGNUM *exponent = NULL;
  bool is_usual = EVP_PKEY_get_bits(key) <= MODULUS_BITS_MAX && EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_E, &exponent) == 1 && BN_is_odd(exponent) &&
                  BN_num_bits(exponent) <= EXPONENT_BITS_MAX;
  BN_free(exponent);
  return is_usual;
}

/* Returns the key of a SubjectPublicKeyInfo without trailing bytes; NULL if there is none. */
static EVP_PKEY *key_of(struct bytes encoded) {
  if (encoded.length == 0 || encoded.length > LONG_MAX) return NULL;
  const unsigned char *position = encoded.data;
  ERR_set_mark();
  EVP_PKEY *key = d2i_PUBKEY(NULL, &position, (long)encoded.length);
  bool is_usable = key != NULL && position == encoded.data + encoded.length && has_usual_numbers(key);
  ERR_pop_to_mark();
  if (is_usable) return key;
  EVP_PKEY_free(key);
  return NULL;
}

/*
 * readKey(subjectPublicKeyInfo): an object that wraps the key of a SubjectPublicKeyInfo in DER;
 * undefined if OpenSSL rejects it. It is an ordinary object: a napi_external has no prototype, and
 * Node 24 crashes when one is handled as an object.
 */
static napi_value js_read_key(napi_env env, napi_callback_info info) {
  napi_value argument;
  napi_value object = NULL;
  size_t count = 1;
  int64_t total;
  struct bytes encoded;
  if (napi_get_cb_info(env, info, &count, &argument, NULL, NULL) != napi_ok || count != 1 || !read_bytes(env, argument, &encoded)) {
    return throw_type(env, "readKey takes a Uint8Array");
  }
  EVP_PKEY *key = key_of(encoded);
  if (key == NULL) return NULL;
  if (napi_create_object(env, &object) != napi_ok || napi_wrap(env, object, key, free_key, NULL, NULL) != napi_ok) {
    EVP_PKEY_free(key);
    return throw_type(env, "no object for a key can be made");
  }
  napi_adjust_external_memory(env, KEY_BYTES, &total);
  if (napi_type_tag_object(env, object, &KEY_TAG) != napi_ok) return throw_type(env, "no object for a key can be made");
  return object;
}

/*
 * Whether a key is of the kind that a scheme needs. A key that is bound to RSASSA-PSS (RFC 4055)
 * fits only that.
 */
static bool is_for(const EVP_PKEY *key, enum scheme scheme) {
  int kind = EVP_PKEY_get_base_id(key);
  switch (scheme) {
    case RSA_PKCS1: return kind == EVP_PKEY_RSA;
    case RSA_PSS: return kind == EVP_PKEY_RSA || kind == EVP_PKEY_RSA_PSS;
    case ECDSA: return kind == EVP_PKEY_EC;
    case DSA_SCHEME: return kind == EVP_PKEY_DSA;
    default: return false;
  }
}

struct rule {
  enum scheme scheme;
  const EVP_MD *hash;
  /* Only for RSASSA-PSS. */
  const EVP_MD *mgf_hash;
  int salt_bytes;
};

static bool set_rule(EVP_PKEY_CTX *context, const struct rule *rule) {
  bool is_rsa = rule->scheme == RSA_PKCS1 || rule->scheme == RSA_PSS;
  int padding = rule->scheme == RSA_PSS ? RSA_PKCS1_PSS_PADDING : RSA_PKCS1_PADDING;
  if (is_rsa && EVP_PKEY_CTX_set_rsa_padding(context, padding) != 1) return false;
  if (EVP_PKEY_CTX_set_signature_md(context, rule->hash) != 1) return false;
  if (rule->scheme != RSA_PSS) return true;
  return EVP_PKEY_CTX_set_rsa_mgf1_md(context, rule->mgf_hash) == 1 && EVP_PKEY_CTX_set_rsa_pss_saltlen(context, rule->salt_bytes) == 1;
}

/*
 * RFC 8017 §8.1.2 and §8.2.2, step 1. For RSASSA-PSS, OpenSSL also accepts a value without its
 * leading zeros.
 */
static bool has_length_of(const EVP_PKEY *key, enum scheme scheme, struct bytes value) {
  return (scheme != RSA_PKCS1 && scheme != RSA_PSS) || value.length == (size_t)EVP_PKEY_get_size(key);
}

static bool digest_verifies(EVP_PKEY *key, const struct rule *rule, struct bytes digest, struct bytes value) {
  if (!is_for(key, rule->scheme) || !has_length_of(key, rule->scheme, value) || digest.length != (size_t)EVP_MD_get_size(rule->hash)) return false;
  ERR_set_mark();
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
  bool holds = context != NULL && EVP_PKEY_verify_init(context) == 1 && set_rule(context, rule) &&
               EVP_PKEY_verify(context, value.data, value.length, digest.data, digest.length) == 1;
  EVP_PKEY_CTX_free(context);
  ERR_pop_to_mark();
  return holds;
}

static bool message_verifies(EVP_PKEY *key, struct bytes message, struct bytes value) {
  int kind = EVP_PKEY_get_base_id(key);
  if (kind != EVP_PKEY_ED25519 && kind != EVP_PKEY_ED448) return false;
  ERR_set_mark();
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  bool holds = context != NULL && EVP_DigestVerifyInit_ex(context, NULL, NULL, NULL, NULL, key, NULL) == 1 &&
               EVP_DigestVerify(context, value.data, value.length, message.data, message.length) == 1;
  EVP_MD_CTX_free(context);
  ERR_pop_to_mark();
  return holds;
}

static napi_value boolean(napi_env env, bool value) {
  napi_value result;
  return napi_get_boolean(env, value, &result) == napi_ok ? result : NULL;
}

/*
 * verifyDigest(key, scheme, hash, mgfHash, saltBytes, digest, value): whether the value is the
 * key's signature of the digest. ECDSA and DSA values must be in DER, in their only valid encoding;
 * mgfHash and saltBytes are used for RSASSA-PSS only.
 */
static napi_value js_verify_digest(napi_env env, napi_callback_info info) {
  napi_value arguments[7];
  size_t count = 7;
  EVP_PKEY *key = NULL;
  uint32_t scheme;
  uint32_t hash;
  uint32_t mgf_hash;
  uint32_t salt_bytes;
  struct bytes digest;
  struct bytes value;
  if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != napi_ok || count != 7 || !read_key(env, arguments[0], &key) ||
      !read_index(env, arguments[1], SCHEMES, &scheme) || !read_index(env, arguments[2], HASH_COUNT, &hash) ||
      !read_index(env, arguments[3], HASH_COUNT, &mgf_hash) || !read_index(env, arguments[4], UINT16_MAX + 1, &salt_bytes) ||
      !read_bytes(env, arguments[5], &digest) || !read_bytes(env, arguments[6], &value)) {
    return throw_type(env, "verifyDigest takes a key, the numbers of scheme, hash, hash of MGF1 and salt, a digest and a value");
  }
  struct rule rule = {.scheme = scheme, .hash = HASHES[hash](), .mgf_hash = HASHES[mgf_hash](), .salt_bytes = (int)salt_bytes};
  return boolean(env, digest_verifies(key, &rule, digest, value));
}

/*
 * verifyMessage(key, message, value): the same for keys that sign whole messages, Ed25519 and Ed448
 * (RFC 8032).
 */
static napi_value js_verify_message(napi_env env, napi_callback_info info) {
  napi_value arguments[3];
  size_t count = 3;
  EVP_PKEY *key = NULL;
  struct bytes message;
  struct bytes value;
  if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != napi_ok || count != 3 || !read_key(env, arguments[0], &key) ||
      !read_bytes(env, arguments[1], &message) || !read_bytes(env, arguments[2], &value)) {
    return throw_type(env, "verifyMessage takes a key, a message and a value");
  }
  return boolean(env, message_verifies(key, message, value));
}

NAPI_MODULE_INIT() {
  const napi_property_descriptor properties[] = {
    {"readKey", NULL, js_read_key, NULL, NULL, NULL, napi_enumerable, NULL},
    {"verifyDigest", NULL, js_verify_digest, NULL, NULL, NULL, napi_enumerable, NULL},
    {"verifyMessage", NULL, js_verify_message, NULL, NULL, NULL, napi_enumerable, NULL},
  };
  if (napi_define_properties(env, exports, sizeof properties / sizeof properties[0], properties) != napi_ok) return NULL;
  return exports;
}
