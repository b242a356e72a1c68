/*
 * A PKCS#11 module for tests: that of FAULT_REAL_MODULE, with faults. The file named by FAULT_FILE says which, in one line:
 *   [always] FUNCTION KIND [NUMBER [AFTER]]     such as "C_Sign hang", "C_SignInit error 0x90", "always C_Login error 0xa0"
 * FUNCTION may be "*": each of those below but C_Login.
 * KIND is garble (a value of ECDSA is wrong), hang, crash (before the real call), crash-after, delay (NUMBER milliseconds, then the real call), error (NUMBER is the CKR_ code) or logout (all
 * sessions lose their login, then the real call).
 * A fault strikes the first call of its function, after AFTER others, and the file is taken away, unless it says "always". FAULT_LATENCY_MS delays every C_Sign.
 * FAULT_ECDSA_AT_MOST is how many bytes CKM_ECDSA signs; more are CKR_DATA_LEN_RANGE. FAULT_FIND_AT_MOST is how many objects C_FindObjects returns at once. FAULT_HIDDEN_MECHANISMS lists mechanisms that C_GetMechanismList leaves out, separated by spaces.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long rv;
typedef unsigned long arg;
/* No function of PKCS#11 that is wrapped here has more parameters; further arguments are ignored by the x86-64 and AArch64 calling conventions. */
typedef rv (*any_function)(arg, arg, arg, arg, arg, arg, arg, arg);

enum { functions = 68, index_of_mechanism_list = 7, index_of_logout = 19, index_of_find_objects = 27, general_error = 5, data_len_range = 0x21, ecdsa = 0x1041 };
/* CK_FUNCTION_LIST (PKCS#11 2.40, §5): a version, then the functions in their fixed order. */
struct function_list {
  unsigned char version[2];
  any_function function[functions];
};
typedef rv (*get_function_list)(struct function_list **);

static struct function_list list, *real;
static long latency_ms;

/* Calls that the armed fault has let pass. */
static long passed;

static int fault_of(const char *name, char *kind, size_t kind_size, long *number) {
  const char *path = getenv("FAULT_FILE");
  char line[128] = "", function[64] = "", format[32], taken[4096];
  FILE *file = path == NULL ? NULL : fopen(path, "r");
  if (file == NULL) return 0;
  if (fgets(line, sizeof line, file) == NULL) line[0] = 0;
  fclose(file);
  int always = strncmp(line, "always ", 7) == 0;
  long after = 0;
  snprintf(format, sizeof format, "%%63s %%%zus %%li %%li", kind_size - 1);
  *number = 0;
  if (sscanf(line + (always ? 7 : 0), format, function, kind, number, &after) < 2) return 0;
  if (strcmp(function, name) != 0 && (strcmp(function, "*") != 0 || strcmp(name, "C_Login") == 0)) return 0;
  if (__atomic_fetch_add(&passed, 1, __ATOMIC_SEQ_CST) < after) return 0;
  __atomic_store_n(&passed, 0, __ATOMIC_SEQ_CST);
  if (always) return 1;
  /* Of two threads that see it at once, the one whose renaming works is struck. */
  snprintf(taken, sizeof taken, "%s.%ld", path, (long)gettid());
  if (rename(path, taken) != 0) return 0;
  unlink(taken);
  return 1;
}

/* Of the signature that this thread has begun. */
static __thread arg mechanism;

static rv with_fault(const char *name, any_function call, arg a, arg b, arg c, arg d, arg e, arg f, arg g, arg h) {
  char kind[32];
  long number;
  if (strcmp(name, "C_SignInit") == 0 && b != 0) mechanism = *(arg *)b;
  const char *at_most = getenv("FAULT_ECDSA_AT_MOST");
  if (at_most != NULL && strcmp(name, "C_Sign") == 0 && mechanism == ecdsa && c > strtoul(at_most, NULL, 0)) {
    call(a, b, c, d, e, f, g, h);
    return data_len_range;
  }
  if (!fault_of(name, kind, sizeof kind, &number)) return call(a, b, c, d, e, f, g, h);
  if (strcmp(kind, "garble") == 0) {
    rv answer = call(a, b, c, d, e, f, g, h);
    if (answer == 0 && mechanism == ecdsa && d != 0) ((unsigned char *)d)[9] ^= 1;
    return answer;
  }
  if (strcmp(kind, "hang") == 0) for (;;) sleep(1000);
  if (strcmp(kind, "crash") == 0) abort();
  if (strcmp(kind, "crash-after") == 0) {
    call(a, b, c, d, e, f, g, h);
    abort();
  }
  if (strcmp(kind, "logout") == 0) real->function[index_of_logout](a, 0, 0, 0, 0, 0, 0, 0);
  if (strcmp(kind, "delay") == 0) usleep((useconds_t)number * 1000);
  if (strcmp(kind, "error") == 0) {
    /* C_Sign and C_Verify end the operation whatever they answer, as PKCS#11 wants it. */
    if (strcmp(name, "C_Sign") == 0 || strcmp(name, "C_Verify") == 0) call(a, b, c, d, e, f, g, h);
    return (rv)number;
  }
  return call(a, b, c, d, e, f, g, h);
}

#define WRAPPED(name, index)                                                                     \
  static rv wrapped_##name(arg a, arg b, arg c, arg d, arg e, arg f, arg g, arg h) {             \
    if (latency_ms > 0 && strcmp(#name, "C_Sign") == 0) usleep((useconds_t)latency_ms * 1000);    \
    return with_fault(#name, real->function[index], a, b, c, d, e, f, g, h);                     \
  }
#define FOR_EACH_WRAPPED(x)                                                                                         \
  x(C_OpenSession, 12) x(C_Login, 18) x(C_DestroyObject, 22) x(C_GetAttributeValue, 24) x(C_SetAttributeValue, 25)  \
  x(C_FindObjectsInit, 26)                                                                                          \
  x(C_SignInit, 42) x(C_Sign, 43) x(C_VerifyInit, 48) x(C_Verify, 49) x(C_GenerateKey, 58) x(C_GenerateKeyPair, 59)  \
  x(C_GenerateRandom, 64)
FOR_EACH_WRAPPED(WRAPPED)

static int hidden(arg mechanism) {
  const char *rest = getenv("FAULT_HIDDEN_MECHANISMS");
  while (rest != NULL && *rest != '\0') {
    char *end;
    unsigned long number = strtoul(rest, &end, 0);
    if (end == rest) return 0;
    if (number == mechanism) return 1;
    rest = end;
  }
  return 0;
}

static rv mechanism_list(arg slot, arg mechanisms, arg count, arg d, arg e, arg f, arg g, arg h) {
  rv answer = real->function[index_of_mechanism_list](slot, mechanisms, count, d, e, f, g, h);
  if (answer != 0 || mechanisms == 0) return answer;
  arg *each = (arg *)mechanisms, *number = (arg *)count, kept = 0;
  for (arg index = 0; index < *number; index++)
    if (!hidden(each[index])) each[kept++] = each[index];
  *number = kept;
  return answer;
}

static rv find_objects(arg session, arg objects, arg max, arg count, arg e, arg f, arg g, arg h) {
  const char *at_most = getenv("FAULT_FIND_AT_MOST");
  arg limit = at_most == NULL ? max : strtoul(at_most, NULL, 0);
  return real->function[index_of_find_objects](session, objects, max < limit ? max : limit, count, e, f, g, h);
}

rv C_GetFunctionList(struct function_list **answer) {
  const char *path = getenv("FAULT_REAL_MODULE"), *latency = getenv("FAULT_LATENCY_MS");
  void *module = dlopen(path == NULL ? "" : path, RTLD_NOW | RTLD_LOCAL);
  if (module == NULL) return general_error;
  get_function_list get = (get_function_list)dlsym(module, "C_GetFunctionList");
  if (get == NULL || get(&real) != 0) return general_error;
  latency_ms = latency == NULL ? 0 : atol(latency);
  list = *real;
#define PUT(name, index) list.function[index] = wrapped_##name;
  FOR_EACH_WRAPPED(PUT)
  list.function[index_of_mechanism_list] = mechanism_list;
  list.function[index_of_find_objects] = find_objects;
  *answer = &list;
  return 0;
}
