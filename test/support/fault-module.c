/*
 * A PKCS#11 module for tests: SoftHSM's, with faults in C_Sign. The file named by FAULT_FILE says which, and is taken away by the call that
 * meets it, so each fault strikes once: "hang", "crash", "delay MILLISECONDS", or "error CKR_NUMBER" (as for scanf %li).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long rv;
enum { functions = 68, index_of_sign = 43, general_error = 5 };
/* CK_FUNCTION_LIST (PKCS#11 2.40, §5): a version, then the functions in their fixed order. */
struct function_list {
  unsigned char version[2];
  void *function[functions];
};
typedef rv (*get_function_list)(struct function_list **);
typedef rv (*sign_function)(unsigned long, unsigned char *, unsigned long, unsigned char *, unsigned long *);

static struct function_list list;
static sign_function real_sign;

static int take_fault(char *fault, size_t size) {
  const char *path = getenv("FAULT_FILE");
  char taken[4096];
  if (path == NULL || access(path, F_OK) != 0) return 0;
  snprintf(taken, sizeof taken, "%s.%ld", path, (long)gettid());
  if (rename(path, taken) != 0) return 0;
  FILE *file = fopen(taken, "r");
  int read = file != NULL && fgets(fault, (int)size, file) != NULL;
  if (file != NULL) fclose(file);
  unlink(taken);
  return read;
}

static rv sign(unsigned long session, unsigned char *data, unsigned long length, unsigned char *value, unsigned long *value_length) {
  char fault[64];
  if (take_fault(fault, sizeof fault)) {
    if (strncmp(fault, "hang", 4) == 0) for (;;) sleep(1000);
    if (strncmp(fault, "crash", 5) == 0) abort();
    if (strncmp(fault, "delay ", 6) == 0) usleep((useconds_t)atol(fault + 6) * 1000);
    if (strncmp(fault, "error ", 6) == 0) {
      /* The operation ends with the error, as PKCS#11 wants it. */
      real_sign(session, data, length, value, value_length);
      return strtoul(fault + 6, NULL, 0);
    }
  }
  return real_sign(session, data, length, value, value_length);
}

rv C_GetFunctionList(struct function_list **answer) {
  const char *path = getenv("FAULT_REAL_MODULE");
  void *module = dlopen(path == NULL ? "" : path, RTLD_NOW | RTLD_LOCAL);
  if (module == NULL) return general_error;
  get_function_list get = (get_function_list)dlsym(module, "C_GetFunctionList");
  struct function_list *real;
  if (get == NULL || get(&real) != 0) return general_error;
  list = *real;
  real_sign = (sign_function)real->function[index_of_sign];
  list.function[index_of_sign] = (void *)sign;
  *answer = &list;
  return 0;
}
