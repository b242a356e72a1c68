/*
 * A signature with a caller's key, in one call: the token verifies the MAC of the secret, and only
 * then signs. Nearly all requests are of this kind, and between four calls from JavaScript without
 * JIT compiler most of the time would be the interpreter's. It is also a rule that cannot be
 * forgotten here: without a verified MAC this function reaches no C_SignInit.
 *
 * The function reads a signature request (src/token/wire/sign-message.ts, src/token/wire/proofs.ts)
 * by itself. A request that is not of the usual form, and every malformed one, is left to the
 * JavaScript code: nothing has been done for it then.
 */
#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <dlfcn.h>
#include <limits.h>
#include <node_api.h>
#include <pkcs11/pkcs11.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "bytes.h"

/*
 * Results other than the length of an answer; the first two are those of
 * src/token/host/proven-signatures.ts.
 */
enum { WRONG = -1, UNUSUAL = -2, FAULT = -3 };

/* Fields of a request, and their lengths in bytes. */
enum {
  KEY_ID_BYTES = 17,
  SCHEME = KEY_ID_BYTES,
  HASH,
  MGF_HASH,
  SALT_LENGTH,
  HAS_PROOFS = SALT_LENGTH + 2,
  DIGEST_COUNT,
  DIGESTS = DIGEST_COUNT + 2,
};
enum { PROOF_SALT_BYTES = 16, SCOPE_BYTES = 32, PROOF_HEAD_BYTES = 5, PROOF_FIXED_BYTES = PROOF_HEAD_BYTES + PROOF_SALT_BYTES + SCOPE_BYTES };
enum { ROLE_SIGNS = 1, ROLE_ALSO = 2 };
/* Kinds of secrets: the first three and activation data let a key sign. */
enum { FIRST_KIND = 1, LAST_OF_FIRST_SIGNING_KINDS = 3, SAD_KIND = 9, LAST_KIND = 10 };

static bool lets_sign(unsigned char kind) {
  return kind <= LAST_OF_FIRST_SIGNING_KINDS || kind == SAD_KIND;
}
enum { CALLERS_KEY = 0x43 };

/* Longer secrets are left to the JavaScript code. A longer value is a fault of the token. */
enum { SECRET_MAX_BYTES = 1024, VALUE_MAX_BYTES = 1024, DIGEST_MAX_BYTES = 64 };

static const char MAC_PREFIX[] = "signetd secret v2";
enum { MAC_INPUT_MAX_BYTES = sizeof MAC_PREFIX + KEY_ID_BYTES + 1 + PROOF_SALT_BYTES + SCOPE_BYTES + SECRET_MAX_BYTES };

/* Bytes of an answer before its values, and the room for each value with its length. */
enum { LIST_HEAD_BYTES = 5, VALUE_ROOM_BYTES = 4 + VALUE_MAX_BYTES };

enum scheme { RSA_PKCS1, RSA_PSS, ECDSA, SCHEMES };

/* DigestInfo up to the digest (RFC 8017 §9.2, note 1), and the parameters of RSASSA-PSS. */
static const struct hash {
  CK_MECHANISM_TYPE mechanism;
  CK_RSA_PKCS_MGF_TYPE mgf;
  size_t digest_bytes;
  size_t prefix_bytes;
  unsigned char prefix[19];
} HASHES[] = {
  {CKM_SHA_1, CKG_MGF1_SHA1, 20, 15, {0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2b, 0x0e, 0x03, 0x02, 0x1a, 0x05, 0x00, 0x04, 0x14}},
  {CKM_SHA256, CKG_MGF1_SHA256, 32, 19,
   {0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20}},
  {CKM_SHA384, CKG_MGF1_SHA384, 48, 19,
   {0x30, 0x41, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02, 0x05, 0x00, 0x04, 0x30}},
  {CKM_SHA512, CKG_MGF1_SHA512, 64, 19,
   {0x30, 0x51, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03, 0x05, 0x00, 0x04, 0x40}},
};
enum { HASH_COUNT = sizeof HASHES / sizeof HASHES[0] };

/* One proof within a request. */
struct proof {
  unsigned char role;
  unsigned char kind;
  /* Salt, then scope. */
  const unsigned char *salt;
  const unsigned char *mac;
  size_t mac_bytes;
  const unsigned char *secret;
  size_t secret_bytes;
};

struct request {
  const unsigned char *key_id;
  enum scheme scheme;
  const struct hash *hash;
  const struct hash *mgf_hash;
  size_t salt_bytes;
  /* Of each digest that is signed: with ECDSA, those of the order of the curve at most (FIPS 186-5, 6.4.1). */
  size_t input_bytes;
  const unsigned char *digests;
  size_t digest_count;
  struct proof candidate;
  struct proof also;
  bool has_also;
};

/* A failed call of the token. */
struct fault {
  const char *call;
  CK_RV rv;
  /* Number of values that were made before. */
  size_t made;
};

/* The number of the MAC key follows the MAC (src/token/mac-generation.ts), but for key 0. */
enum { MAC_BYTES = 32, GENERATION_BYTES = 4 };

static size_t read_u16(const unsigned char *bytes) { return (size_t)bytes[0] << 8 | bytes[1]; }

static void write_u32(unsigned char *bytes, size_t value) {
  bytes[0] = (unsigned char)(value >> 24);
  bytes[1] = (unsigned char)(value >> 16);
  bytes[2] = (unsigned char)(value >> 8);
  bytes[3] = (unsigned char)value;
}

static uint32_t read_u32(const unsigned char *bytes) { return (uint32_t)read_u16(bytes) << 16 | (uint32_t)read_u16(bytes + 2); }

/*
 * Reads a proof from the beginning of the bytes; returns its length, or 0 if it is not usual: its MAC
 * must be of the MAC key with this number.
 */
static size_t read_proof(const unsigned char *bytes, size_t length, uint32_t generation, struct proof *proof) {
  if (length < PROOF_FIXED_BYTES) return 0;
  proof->role = bytes[0];
  proof->kind = bytes[1];
  proof->secret_bytes = read_u16(bytes + 2);
  proof->mac_bytes = bytes[4];
  proof->salt = bytes + PROOF_HEAD_BYTES;
  proof->mac = bytes + PROOF_FIXED_BYTES;
  proof->secret = proof->mac + proof->mac_bytes;
  size_t whole = PROOF_FIXED_BYTES + proof->mac_bytes + proof->secret_bytes;
  if (whole > length || proof->secret_bytes > SECRET_MAX_BYTES || proof->kind < FIRST_KIND || proof->kind > LAST_KIND) return 0;
  size_t suffix_bytes = generation == 0 ? 0 : GENERATION_BYTES;
  if (proof->mac_bytes != MAC_BYTES + suffix_bytes) return 0;
  if (suffix_bytes != 0 && read_u32(proof->mac + MAC_BYTES) != generation) return 0;
  proof->mac_bytes = MAC_BYTES;
  return whole;
}

/*
 * Reads a request of the usual form: a caller's key, digests, one candidate that signs, and perhaps
 * a proof that must verify in addition.
 */
static bool read_request(struct bytes body, size_t values_max, uint32_t generation, size_t ecdsa_bytes, struct request *request) {
  if (body.length < DIGESTS || body.data[0] != CALLERS_KEY || body.data[HAS_PROOFS] == 0) return false;
  if (body.data[SCHEME] >= SCHEMES || body.data[HASH] >= HASH_COUNT) return false;
  request->key_id = body.data;
  request->scheme = body.data[SCHEME];
  request->hash = &HASHES[body.data[HASH]];
  request->mgf_hash = request->hash;
  request->input_bytes = request->hash->digest_bytes;
  if (request->scheme == ECDSA && ecdsa_bytes < request->input_bytes) request->input_bytes = ecdsa_bytes;
  request->salt_bytes = 0;
  if (request->scheme == RSA_PSS) {
    if (body.data[MGF_HASH] >= HASH_COUNT) return false;
    request->mgf_hash = &HASHES[body.data[MGF_HASH]];
    request->salt_bytes = read_u16(body.data + SALT_LENGTH);
  }
  request->digests = body.data + DIGESTS;
  request->digest_count = read_u16(body.data + DIGEST_COUNT);
  if (request->digest_count == 0 || request->digest_count > values_max) return false;
  size_t offset = DIGESTS + request->digest_count * request->hash->digest_bytes;
  if (offset >= body.length) return false;
  size_t length = read_proof(body.data + offset, body.length - offset, generation, &request->candidate);
  if (length == 0 || request->candidate.role != ROLE_SIGNS || !lets_sign(request->candidate.kind)) return false;
  offset += length;
  request->has_also = offset < body.length;
  if (!request->has_also) return true;
  length = read_proof(body.data + offset, body.length - offset, generation, &request->also);
  return length != 0 && request->also.role == ROLE_ALSO && offset + length == body.length;
}

static unsigned char *append(unsigned char *end, const void *bytes, size_t length) {
  memcpy(end, bytes, length);
  return end + length;
}

/*
 * Has the token compare the MAC of a secret; the input is that of macInput in
 * src/token/wire/messages.ts. CKR_SIGNATURE_INVALID and CKR_SIGNATURE_LEN_RANGE, from either call,
 * are a wrong secret.
 */
static bool verify(CK_FUNCTION_LIST_PTR token, CK_SESSION_HANDLE session, CK_OBJECT_HANDLE mac_key, const unsigned char *key_id,
                   const struct proof *proof, bool *is_right, struct fault *fault) {
  unsigned char input[MAC_INPUT_MAX_BYTES];
  unsigned char *end = append(input, MAC_PREFIX, sizeof MAC_PREFIX);
  end = append(end, key_id, KEY_ID_BYTES);
  end = append(end, &proof->kind, 1);
  end = append(end, proof->salt, PROOF_SALT_BYTES + SCOPE_BYTES);
  end = append(end, proof->secret, proof->secret_bytes);
  CK_MECHANISM hmac = {CKM_SHA256_HMAC, NULL, 0};
  fault->call = "C_VerifyInit";
  fault->rv = token->C_VerifyInit(session, &hmac, mac_key);
  if (fault->rv == CKR_OK) {
    fault->call = "C_Verify";
    fault->rv = token->C_Verify(session, input, (CK_ULONG)(end - input), (CK_BYTE_PTR)proof->mac, proof->mac_bytes);
  }
  explicit_bzero(input, sizeof input);
  *is_right = fault->rv == CKR_OK;
  return *is_right || fault->rv == CKR_SIGNATURE_INVALID || fault->rv == CKR_SIGNATURE_LEN_RANGE;
}

/* Signs one digest. `value`: room for VALUE_MAX_BYTES. */
static bool sign(CK_FUNCTION_LIST_PTR token, CK_SESSION_HANDLE session, CK_OBJECT_HANDLE key, const struct request *request,
                 const unsigned char *digest, unsigned char *value, CK_ULONG *length, struct fault *fault) {
  unsigned char input[sizeof HASHES[0].prefix + DIGEST_MAX_BYTES];
  const struct hash *hash = request->hash;
  size_t prefix_bytes = request->scheme == RSA_PKCS1 ? hash->prefix_bytes : 0;
  memcpy(input, hash->prefix, prefix_bytes);
  memcpy(input + prefix_bytes, digest, request->input_bytes);
  CK_RSA_PKCS_PSS_PARAMS pss = {hash->mechanism, request->mgf_hash->mgf, request->salt_bytes};
  static const CK_MECHANISM_TYPE mechanisms[SCHEMES] = {CKM_RSA_PKCS, CKM_RSA_PKCS_PSS, CKM_ECDSA};
  CK_MECHANISM mechanism = {mechanisms[request->scheme], NULL, 0};
  if (request->scheme == RSA_PSS) {
    mechanism.pParameter = &pss;
    mechanism.ulParameterLen = sizeof pss;
  }
  fault->call = "C_SignInit";
  fault->rv = token->C_SignInit(session, &mechanism, key);
  if (fault->rv != CKR_OK) return false;
  fault->call = "C_Sign";
  *length = VALUE_MAX_BYTES;
  fault->rv = token->C_Sign(session, input, prefix_bytes + request->input_bytes, value, length);
  if (fault->rv == CKR_OK && *length > VALUE_MAX_BYTES) fault->rv = CKR_GENERAL_ERROR;
  return fault->rv == CKR_OK;
}

/*
 * Verifies, then signs. Every proof is compared, even after one was wrong. Returns the length of
 * the answer, WRONG, or FAULT. `answer`: room for LIST_HEAD_BYTES, and VALUE_ROOM_BYTES for each
 * digest.
 */
static int64_t prove_and_sign(CK_FUNCTION_LIST_PTR token, CK_SESSION_HANDLE session, CK_OBJECT_HANDLE mac_key, CK_OBJECT_HANDLE key,
                              const struct request *request, unsigned char *answer, struct fault *fault) {
  bool is_right = false;
  bool is_also_right = true;
  fault->made = 0;
  if (!verify(token, session, mac_key, request->key_id, &request->candidate, &is_right, fault)) return FAULT;
  if (request->has_also && !verify(token, session, mac_key, request->key_id, &request->also, &is_also_right, fault)) return FAULT;
  if (!is_right || !is_also_right) return WRONG;
  /*
   * The answer of writeList in src/token/wire/fields.ts: place of the candidate, then the values.
   */
  answer[0] = 0;
  write_u32(answer + 1, request->digest_count);
  unsigned char *end = answer + LIST_HEAD_BYTES;
  for (; fault->made < request->digest_count; fault->made += 1) {
    const unsigned char *digest = request->digests + fault->made * request->hash->digest_bytes;
    CK_ULONG length = 0;
    if (!sign(token, session, key, request, digest, end + 4, &length, fault)) return FAULT;
    write_u32(end, length);
    end += 4 + length;
  }
  return end - answer;
}

/*
 * Throws an error with the CKR_ value as its `code`, like those of pkcs11js, and with the number of
 * values that were made before as `made`.
 */
static napi_value throw_fault(napi_env env, const struct fault *fault) {
  char text[64];
  napi_value message;
  napi_value error;
  napi_value code;
  napi_value made;
  snprintf(text, sizeof text, "%s returned 0x%lx", fault->call, fault->rv);
  if (napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &message) != napi_ok || napi_create_error(env, NULL, message, &error) != napi_ok ||
      napi_create_int64(env, (int64_t)fault->rv, &code) != napi_ok || napi_set_named_property(env, error, "code", code) != napi_ok ||
      napi_create_int64(env, (int64_t)fault->made, &made) != napi_ok || napi_set_named_property(env, error, "made", made) != napi_ok) {
    return throw_type(env, text);
  }
  napi_throw(env, error);
  return NULL;
}

static bool read_handle(napi_env env, napi_value value, CK_ULONG *handle) {
  struct bytes bytes;
  if (!read_bytes(env, value, &bytes) || bytes.length != sizeof *handle) return false;
  memcpy(handle, bytes.data, sizeof *handle);
  return true;
}

/*
 * The function that `open` returns: (session, macKey, key, body, answer, generation, ecdsaBytes). Returns the length of the
 * answer, which it writes; WRONG if a secret is wrong; UNUSUAL if the request is left to the
 * caller.
 */
static napi_value js_prove_and_sign(napi_env env, napi_callback_info info) {
  napi_value arguments[7];
  size_t count = 7;
  void *token = NULL;
  CK_SESSION_HANDLE session;
  CK_OBJECT_HANDLE mac_key;
  CK_OBJECT_HANDLE key;
  struct bytes body;
  struct bytes answer;
  uint32_t generation = 0;
  uint32_t ecdsa_bytes = 0;
  if (napi_get_cb_info(env, info, &count, arguments, NULL, &token) != napi_ok || count != 7 || !read_handle(env, arguments[0], &session) ||
      !read_handle(env, arguments[1], &mac_key) || !read_handle(env, arguments[2], &key) || !read_bytes(env, arguments[3], &body) ||
      !read_bytes(env, arguments[4], &answer) ||
      napi_get_value_uint32(env, arguments[5], &generation) != napi_ok || napi_get_value_uint32(env, arguments[6], &ecdsa_bytes) != napi_ok) {
    return throw_type(env,
                      "proveAndSign takes a session, the MAC key, a key, a request, a buffer for the answer, the MAC key's number, and the longest "
                      "input of ECDSA in bytes");
  }
  struct request request;
  struct fault fault;
  int64_t result = UNUSUAL;
  size_t values_max = answer.length < LIST_HEAD_BYTES ? 0 : (answer.length - LIST_HEAD_BYTES) / VALUE_ROOM_BYTES;
  if (read_request(body, values_max, generation, ecdsa_bytes, &request)) result = prove_and_sign(token, session, mac_key, key, &request, answer.data, &fault);
  if (result == FAULT) return throw_fault(env, &fault);
  napi_value returned;
  return napi_create_int64(env, result, &returned) == napi_ok ? returned : NULL;
}

/*
 * open(modulePath): the function above for the module that pkcs11js has loaded from this path in
 * this process.
 */
static napi_value js_open(napi_env env, napi_callback_info info) {
  napi_value argument;
  size_t count = 1;
  char path[PATH_MAX];
  size_t length = 0;
  if (napi_get_cb_info(env, info, &count, &argument, NULL, NULL) != napi_ok || count != 1 ||
      napi_get_value_string_utf8(env, argument, path, sizeof path, &length) != napi_ok || length >= sizeof path - 1) {
    return throw_type(env, "open takes the path of the module");
  }
  /* Only the loaded module, whose sessions and objects the handles are. It stays open. */
  void *module = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  CK_C_GetFunctionList get_list = module == NULL ? NULL : (CK_C_GetFunctionList)dlsym(module, "C_GetFunctionList");
  CK_FUNCTION_LIST_PTR list = NULL;
  napi_value function = NULL;
  if (get_list == NULL || get_list(&list) != CKR_OK || list == NULL) {
    napi_throw_error(env, NULL, "the PKCS#11 module is not loaded");
    return NULL;
  }
  return napi_create_function(env, "proveAndSign", NAPI_AUTO_LENGTH, js_prove_and_sign, list, &function) == napi_ok ? function : NULL;
}

NAPI_MODULE_INIT() {
  const napi_property_descriptor properties[] = {{"open", NULL, js_open, NULL, NULL, NULL, napi_enumerable, NULL}};
  if (napi_define_properties(env, exports, 1, properties) != napi_ok) return NULL;
  return exports;
}
