/*
 * Signing rate of the token itself: C on a PKCS#11 module, without anything else. Prints one line
 * of JSON.
 *
 * The key is a session object (sensitive, not extractable) of one anchor session, so nothing stays
 * on the token. Each thread has its own session and repeatedly signs one fixed digest: CKM_RSA_PKCS
 * over the DigestInfo of SHA-256, or CKM_ECDSA over as many bytes as the curve has.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/*
 * The required part of PKCS#11 2.40, so that no header needs to be installed. Unix: natural
 * alignment.
 */
typedef unsigned char CK_BYTE;
typedef unsigned long CK_ULONG;
typedef struct { CK_BYTE major, minor; } CK_VERSION;
typedef struct { CK_ULONG type; void *value; CK_ULONG length; } CK_ATTRIBUTE;
typedef struct { CK_ULONG mechanism; void *parameter; CK_ULONG parameter_length; } CK_MECHANISM;
typedef struct { void *mutex_functions[4]; CK_ULONG flags; void *reserved; } CK_C_INITIALIZE_ARGS;
typedef struct {
  CK_BYTE label[32], manufacturer[32], model[16], serial[16];
  CK_ULONG flags, limits[10];
  CK_VERSION hardware, firmware;
  CK_BYTE utc_time[16];
} CK_TOKEN_INFO;

enum { CKF_OS_LOCKING_OK = 2, CKF_SERIAL_SESSION = 4, CKU_USER = 1 };
enum { CKM_RSA_PKCS_KEY_PAIR_GEN = 0, CKM_RSA_PKCS = 1, CKM_EC_KEY_PAIR_GEN = 0x1040, CKM_ECDSA = 0x1041 };
enum {
  CKA_TOKEN = 0x001, CKA_PRIVATE = 0x002, CKA_SENSITIVE = 0x103, CKA_SIGN = 0x108, CKA_VERIFY = 0x10a,
  CKA_MODULUS_BITS = 0x121, CKA_PUBLIC_EXPONENT = 0x122, CKA_EXTRACTABLE = 0x162, CKA_EC_PARAMS = 0x180
};

/* Indices of the functions in CK_FUNCTION_LIST. */
enum {
  INITIALIZE = 0, FINALIZE = 1, GET_SLOT_LIST = 4, GET_TOKEN_INFO = 6, OPEN_SESSION = 12, LOGIN = 18, DESTROY_OBJECT = 22,
  SIGN_INIT = 42, SIGN = 43, VERIFY_INIT = 48, VERIFY = 49, GENERATE_KEY_PAIR = 59, FUNCTION_COUNT = 68
};
typedef struct { CK_VERSION version; void *functions[FUNCTION_COUNT]; } CK_FUNCTION_LIST;

typedef CK_ULONG get_function_list(CK_FUNCTION_LIST **);
typedef CK_ULONG initialize(CK_C_INITIALIZE_ARGS *);
typedef CK_ULONG finalize(void *);
typedef CK_ULONG get_slot_list(CK_BYTE present, CK_ULONG *slots, CK_ULONG *count);
typedef CK_ULONG get_token_info(CK_ULONG slot, CK_TOKEN_INFO *);
typedef CK_ULONG open_session(CK_ULONG slot, CK_ULONG flags, void *application, void *notify, CK_ULONG *session);
typedef CK_ULONG login(CK_ULONG session, CK_ULONG user, CK_BYTE *pin, CK_ULONG length);
typedef CK_ULONG destroy_object(CK_ULONG session, CK_ULONG object);
typedef CK_ULONG generate_key_pair(CK_ULONG session, CK_MECHANISM *, CK_ATTRIBUTE *public_template, CK_ULONG public_count,
                                   CK_ATTRIBUTE *private_template, CK_ULONG private_count, CK_ULONG *public_key, CK_ULONG *private_key);
typedef CK_ULONG begin_operation(CK_ULONG session, CK_MECHANISM *, CK_ULONG key);
typedef CK_ULONG sign(CK_ULONG session, CK_BYTE *data, CK_ULONG length, CK_BYTE *signature, CK_ULONG *signature_length);
typedef CK_ULONG verify(CK_ULONG session, CK_BYTE *data, CK_ULONG length, CK_BYTE *signature, CK_ULONG signature_length);

static CK_FUNCTION_LIST *module;
#define CALL(type, place) ((type *)module->functions[place])

enum { WARM_UP_SIGNATURES = 50, MAX_THREADS = 256, MAX_SLOTS = 64, MAX_SIGNATURE = 512 };

static const struct key_type {
  const char *name;
  CK_BYTE curve[10];
  CK_ULONG curve_length, digest_length;
} TYPES[] = {
    {"RSA-2048", {0}, 0, 32},
    {"P-256", {0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07}, 10, 32},
    {"P-384", {0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22}, 7, 48},
    {"P-521", {0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x23}, 7, 64},
};
static const struct key_type *type;
static int is_rsa;
static CK_ULONG slot, public_key, private_key;
static CK_BYTE to_sign[19 + 64] = {0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20};
static pthread_barrier_t barrier;
static atomic_int stopped;

static void fail(const char *what, CK_ULONG code) {
  fprintf(stderr, "ceiling: %s (0x%lx)\n", what, code);
  exit(1);
}

static void check(CK_ULONG code, const char *what) {
  if (code != 0) fail(what, code);
}

static double seconds_of(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double cpu_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void load_module(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "ceiling: %s\n", dlerror());
    exit(1);
  }
  get_function_list *list = (get_function_list *)dlsym(library, "C_GetFunctionList");
  if (list == NULL) fail("the module has no C_GetFunctionList", 0);
  check(list(&module), "C_GetFunctionList");
  CK_C_INITIALIZE_ARGS arguments = {.flags = CKF_OS_LOCKING_OK};
  check(CALL(initialize, INITIALIZE)(&arguments), "C_Initialize");
}

static CK_ULONG find_slot(const char *label) {
  CK_ULONG slots[MAX_SLOTS], count = MAX_SLOTS;
  char padded[33];
  if (strlen(label) > 32) fail("a label has at most 32 characters", 0);
  snprintf(padded, sizeof padded, "%-32s", label);
  check(CALL(get_slot_list, GET_SLOT_LIST)(1, slots, &count), "C_GetSlotList");
  for (CK_ULONG index = 0; index < count; index++) {
    CK_TOKEN_INFO info;
    if (CALL(get_token_info, GET_TOKEN_INFO)(slots[index], &info) == 0 && memcmp(info.label, padded, 32) == 0) return slots[index];
  }
  fail("no token has this label", 0);
  return 0;
}

static CK_ULONG new_session(void) {
  CK_ULONG session;
  check(CALL(open_session, OPEN_SESSION)(slot, CKF_SERIAL_SESSION, NULL, NULL, &session), "C_OpenSession");
  return session;
}

static void log_in(CK_ULONG session, const char *pin_file) {
  char pin[256];
  FILE *file = fopen(pin_file, "r");
  if (file == NULL || fgets(pin, sizeof pin, file) == NULL) fail("the file with the PIN cannot be read", 0);
  fclose(file);
  pin[strcspn(pin, "\r\n")] = '\0';
  check(CALL(login, LOGIN)(session, CKU_USER, (CK_BYTE *)pin, strlen(pin)), "C_Login");
  explicit_bzero(pin, sizeof pin);
}

static void make_key(CK_ULONG session) {
  static CK_BYTE yes = 1, no = 0, exponent[] = {1, 0, 1};
  static CK_ULONG bits = 2048;
  CK_ATTRIBUTE public_template[] = {
      {CKA_TOKEN, &no, 1},
      {CKA_VERIFY, &yes, 1},
      {is_rsa ? CKA_MODULUS_BITS : CKA_EC_PARAMS, is_rsa ? (void *)&bits : (void *)type->curve, is_rsa ? sizeof bits : type->curve_length},
      {CKA_PUBLIC_EXPONENT, exponent, sizeof exponent},
  };
  CK_ATTRIBUTE private_template[] = {
      {CKA_TOKEN, &no, 1}, {CKA_PRIVATE, &yes, 1}, {CKA_SENSITIVE, &yes, 1}, {CKA_EXTRACTABLE, &no, 1}, {CKA_SIGN, &yes, 1},
  };
  CK_MECHANISM generation = {is_rsa ? CKM_RSA_PKCS_KEY_PAIR_GEN : CKM_EC_KEY_PAIR_GEN, NULL, 0};
  check(CALL(generate_key_pair, GENERATE_KEY_PAIR)(session, &generation, public_template, is_rsa ? 4 : 3, private_template, 5, &public_key, &private_key),
        "C_GenerateKeyPair");
}

static CK_MECHANISM signing_mechanism(void) {
  return (CK_MECHANISM){is_rsa ? CKM_RSA_PKCS : CKM_ECDSA, NULL, 0};
}

/* RSA signs the whole DigestInfo, ECDSA the digest at its end. */
static CK_BYTE *data(void) { return is_rsa ? to_sign : to_sign + 19; }
static CK_ULONG data_length(void) { return (is_rsa ? 19 : 0) + type->digest_length; }

static CK_ULONG sign_once(CK_ULONG session, CK_BYTE signature[MAX_SIGNATURE]) {
  CK_MECHANISM mechanism = signing_mechanism();
  CK_ULONG length = MAX_SIGNATURE;
  check(CALL(begin_operation, SIGN_INIT)(session, &mechanism, private_key), "C_SignInit");
  check(CALL(sign, SIGN)(session, data(), data_length(), signature, &length), "C_Sign");
  return length;
}

static void *sign_until_stopped(void *count) {
  CK_BYTE signature[MAX_SIGNATURE];
  CK_MECHANISM mechanism = signing_mechanism();
  CK_ULONG session = new_session(), signatures = 0, length = 0;
  for (int index = 0; index < WARM_UP_SIGNATURES; index++) length = sign_once(session, signature);
  check(CALL(begin_operation, VERIFY_INIT)(session, &mechanism, public_key), "C_VerifyInit");
  check(CALL(verify, VERIFY)(session, data(), data_length(), signature, length), "C_Verify: the token's signature is wrong");
  pthread_barrier_wait(&barrier);
  while (!atomic_load_explicit(&stopped, memory_order_relaxed)) {
    sign_once(session, signature);
    signatures++;
  }
  *(CK_ULONG *)count = signatures;
  return NULL;
}

static void measure(int threads, double seconds) {
  pthread_t ids[MAX_THREADS];
  CK_ULONG counts[MAX_THREADS] = {0}, total = 0;
  pthread_barrier_init(&barrier, NULL, (unsigned)threads + 1);
  for (int index = 0; index < threads; index++) {
    if (pthread_create(&ids[index], NULL, sign_until_stopped, &counts[index]) != 0) fail("pthread_create", 0);
  }
  pthread_barrier_wait(&barrier);
  double start = seconds_of(CLOCK_MONOTONIC), cpu_start = cpu_seconds();
  struct timespec pause = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&pause, NULL);
  atomic_store(&stopped, 1);
  for (int index = 0; index < threads; index++) {
    pthread_join(ids[index], NULL);
    total += counts[index];
  }
  double elapsed = seconds_of(CLOCK_MONOTONIC) - start, cpu = cpu_seconds() - cpu_start;
  if (total == 0) fail("nothing was signed", 0);
  printf("{\"type\":\"%s\",\"threads\":%d,\"signatures\":%lu,\"seconds\":%.3f,\"signaturesPerSecond\":%.2f,\"cpuSecondsPerSignature\":%.9f}\n",
         type->name, threads, total, elapsed, (double)total / elapsed, cpu / (double)total);
}

static const struct key_type *find_type(const char *name) {
  for (size_t index = 0; index < sizeof TYPES / sizeof TYPES[0]; index++) {
    if (strcmp(name, TYPES[index].name) == 0) return &TYPES[index];
  }
  return NULL;
}

int main(int count, char **arguments) {
  const char *module_path = NULL, *pin_file = NULL, *label = NULL;
  int threads = 2, option;
  double seconds = 4;
  static const struct option options[] = {
      {"module", required_argument, NULL, 'm'}, {"pin-file", required_argument, NULL, 'p'}, {"label", required_argument, NULL, 'l'},
      {"type", required_argument, NULL, 't'},   {"threads", required_argument, NULL, 'n'},  {"seconds", required_argument, NULL, 's'},
      {0},
  };
  while ((option = getopt_long(count, arguments, "", options, NULL)) != -1) {
    if (option == 'm') module_path = optarg;
    else if (option == 'p') pin_file = optarg;
    else if (option == 'l') label = optarg;
    else if (option == 't') type = find_type(optarg);
    else if (option == 'n') threads = atoi(optarg);
    else if (option == 's') seconds = atof(optarg);
    else return 2;
  }
  is_rsa = type == &TYPES[0];
  if (!module_path || !pin_file || !label || !type || threads < 1 || threads > MAX_THREADS || !(seconds > 0 && seconds <= 600)) {
    fputs("usage: ceiling --module M --pin-file F --label L --type RSA-2048|P-256|P-384|P-521 [--threads 2] [--seconds 4]\n", stderr);
    return 2;
  }
  for (int index = 0; index < 64; index++) to_sign[19 + index] = (CK_BYTE)(7 * index + 1);
  load_module(module_path);
  slot = find_slot(label);
  CK_ULONG anchor = new_session();
  log_in(anchor, pin_file);
  make_key(anchor);
  measure(threads, seconds);
  CALL(destroy_object, DESTROY_OBJECT)(anchor, private_key);
  CALL(destroy_object, DESTROY_OBJECT)(anchor, public_key);
  CALL(finalize, FINALIZE)(NULL);
  return 0;
}
