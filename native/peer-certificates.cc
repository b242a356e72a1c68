/*
 * Bounds on the certificates that the other end of a TLS connection presents, with the OpenSSL that
 * Node contains and exports. Node lets OpenSSL go on after each fault and judges the result later,
 * so that OpenSSL verifies all signatures of a chain that leads nowhere, with keys that its sender
 * chose. What is beyond the bounds is refused before any signature is verified.
 */
#include <node.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace {

/*
 * All certificates of a message together: a chain has three of one or two kilobytes. The names are
 * those that OpenSSL compares with one another: of subjects, alternative names, and constraints.
 */
enum { MESSAGE_BYTES_MAX = 32 * 1024, CERTIFICATES_MAX = 10, NAMES_MAX = 500 };
/* As src/verification/key-bounds.ts has them. */
enum { MODULUS_BITS_MAX = 8192, EXPONENT_BITS_MAX = 32, DSA_BITS_MAX = 3072 };

constexpr int CURVES[] = {NID_X9_62_prime256v1, NID_secp384r1,       NID_secp521r1,       NID_secp224r1,       NID_secp256k1,
                             NID_brainpoolP224r1,  NID_brainpoolP224t1, NID_brainpoolP256r1, NID_brainpoolP256t1, NID_brainpoolP320r1,
                             NID_brainpoolP320t1,  NID_brainpoolP384r1, NID_brainpoolP384t1, NID_brainpoolP512r1, NID_brainpoolP512t1};
enum { GROUP_NAME_BYTES = 80 };

bool is_on_usual_curve(const EVP_PKEY *key) {
  char name[GROUP_NAME_BYTES];
  size_t length = 0;
  if (EVP_PKEY_get_group_name(key, name, sizeof name, &length) != 1) return false;
  int curve = OBJ_txt2nid(name);
  for (int usual : CURVES) {
    if (usual == curve) return true;
  }
  return false;
}

bool has_usual_exponent(const EVP_PKEY *key) {
  BIGNUM *exponent = nullptr;
  bool is_usual = EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_E, &exponent) == 1 && BN_is_odd(exponent) &&
                  BN_num_bits(exponent) <= EXPONENT_BITS_MAX;
  BN_free(exponent);
  return is_usual;
}

/* Whether verifying a signature of a key takes no more than some milliseconds. */
bool is_usual_key(const EVP_PKEY *key) {
  if (key == nullptr) return false;
  switch (EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_RSA:
    case EVP_PKEY_RSA_PSS: return EVP_PKEY_get_bits(key) <= MODULUS_BITS_MAX && has_usual_exponent(key);
    case EVP_PKEY_EC: return is_on_usual_curve(key);
    case EVP_PKEY_DSA: return EVP_PKEY_get_bits(key) <= DSA_BITS_MAX;
    case EVP_PKEY_ED25519:
    case EVP_PKEY_ED448: return true;
    default: return false;
  }
}

int count_of_constraints(const X509 *certificate) {
  auto *constraints = static_cast<NAME_CONSTRAINTS *>(X509_get_ext_d2i(certificate, NID_name_constraints, nullptr, nullptr));
  if (constraints == nullptr) return 0;
  int count = 0;
  if (constraints->permittedSubtrees != nullptr) count += sk_GENERAL_SUBTREE_num(constraints->permittedSubtrees);
  if (constraints->excludedSubtrees != nullptr) count += sk_GENERAL_SUBTREE_num(constraints->excludedSubtrees);
  NAME_CONSTRAINTS_free(constraints);
  return count;
}

/* Each is compared with each constraint. */
int count_of_names(const X509 *certificate) {
  int count = X509_NAME_entry_count(X509_get_subject_name(certificate)) + count_of_constraints(certificate);
  auto *names = static_cast<GENERAL_NAMES *>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  if (names != nullptr) count += sk_GENERAL_NAME_num(names);
  GENERAL_NAMES_free(names);
  return count;
}

bool are_usual(X509_STORE_CTX *context) {
  const STACK_OF(X509) *presented = X509_STORE_CTX_get0_untrusted(context);
  int certificates = presented == nullptr ? 0 : sk_X509_num(presented);
  if (certificates > CERTIFICATES_MAX) return false;
  int names = 0;
  for (int index = 0; index < certificates; index += 1) {
    const X509 *certificate = sk_X509_value(presented, index);
    names += count_of_names(certificate);
    if (names > NAMES_MAX || !is_usual_key(X509_get0_pubkey(certificate))) return false;
  }
  return true;
}

/* In place of X509_verify_cert(3), which it calls for certificates within the bounds. */
int verify_bounded(X509_STORE_CTX *context, void *) {
  if (are_usual(context)) return X509_verify_cert(context);
  X509_STORE_CTX_set_error(context, X509_V_ERR_APPLICATION_VERIFICATION);
  return 0;
}

/*
 * boundPeers(context): bounds the certificates that the other ends of a context's connections
 * present. `context`: Node's external value of an SSL_CTX, which only V8 itself can read.
 */
void bound_peers(const v8::FunctionCallbackInfo<v8::Value> &call) {
  if (call.Length() != 1 || !call[0]->IsExternal()) {
    v8::Isolate *isolate = call.GetIsolate();
    isolate->ThrowException(v8::Exception::TypeError(v8::String::NewFromUtf8Literal(isolate, "boundPeers takes the external value of a context")));
    return;
  }
  auto *context = static_cast<SSL_CTX *>(call[0].As<v8::External>()->Value());
  SSL_CTX_set_max_cert_list(context, MESSAGE_BYTES_MAX);
  SSL_CTX_set_cert_verify_callback(context, verify_bounded, nullptr);
}

}  // namespace

NODE_MODULE_INIT(/* exports, module, context */) {
  (void)module;
  (void)context;
  NODE_SET_METHOD(exports, "boundPeers", bound_peers);
}
