/*
 * A PKCS#11 module for tests: SoftHSM's, with faults. The file named by FAULT_FILE says which, and is taken away by the call that meets it, so
 * each fault strikes once. In C_Sign: "hang", "crash", "delay MILLISECONDS", or "error CKR_NUMBER" (as for scanf %li). In C_SetAttributeValue:
 * "crash-set". FAULT_HIDDEN_MECHANISMS lists mechanisms that C_GetMechanismList leaves out, separated by spaces.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long rv;
enum { functions = 68, index_of_mechanism_list = 7, index_of_set_attribute = 25, index_of_sign = 43, general_error = 5 };
/* CK_FUNCTION_LIST (PKCS#11 2.40, §5): a version, then the functions in their fixed order. */
struct function_list {
  unsigned char version[2];
  void *function[functions];
};
typedef rv (*get_function_list)(struct function_list **);
typedef rv (*mechanism_list_function)(unsigned long, unsigned long *, unsigned long *);
typedef rv (*set_attribute_function)(unsigned long, unsigned long, void *, unsigned long);
typedef rv (*sign_function)(unsigned long, unsigned char *, unsigned long, unsigned char *, unsigned long *);

static struct function_list list;
static mechanism_list_function real_mechanism_list;
static set_attribute_function real_set_attribute;
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

static int hidden(unsigned long mechanism) {
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

static rv mechanism_list(unsigned long slot, unsigned long *mechanisms, unsigned long *count) {
  rv answer = real_mechanism_list(slot, mechanisms, count);
  if (answer != 0 || mechanisms == NULL) return answer;
  unsigned long kept = 0;
  for (unsigned long index = 0; index < *count; index++)
    if (!hidden(mechanisms[index])) mechanisms[kept++] = mechanisms[index];
  *count = kept;
  return answer;
}

static rv set_attribute(unsigned long session, unsigned long object, void *attributes, unsigned long count) {
  char fault[64];
  if (take_fault(fault, sizeof fault) && strncmp(fault, "crash-set", 9) == 0) abort();
  return real_set_attribute(session, object, attributes, count);
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
  real_mechanism_list = (mechanism_list_function)real->function[index_of_mechanism_list];
  list.function[index_of_mechanism_list] = (void *)mechanism_list;
  real_set_attribute = (set_attribute_function)real->function[index_of_set_attribute];
  list.function[index_of_set_attribute] = (void *)set_attribute;
  *answer = &list;
  return 0;
}
