/*
 * A PKCS#11 module that stands in for another one: it opens the module named by
 * SIGNETD_ISOLATED_MODULE with RTLD_DEEPBIND, so that symbols of that module and its libraries are
 * resolved among those libraries first, and returns its function list. Without it, a module that
 * links libcrypto calls the OpenSSL that Node exports, which has a different version and build
 * options (dlopen(3), RTLD_DEEPBIND).
 *
 * The list is asked for once: the client module of p11-kit makes another instance, with sessions of
 * its own, at each call of C_GetFunctionList, and this process asks from more than one place.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned long ck_rv;
/* The list is passed through unchanged. */
typedef ck_rv (*get_function_list)(void **);

enum { ckr_general_error = 5 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *functions;
static ck_rv outcome = ckr_general_error;

static void open_module(void) {
  const char *path = getenv("SIGNETD_ISOLATED_MODULE");
  if (path == NULL || path[0] != '/') {
    fputs("the module to isolate is named by SIGNETD_ISOLATED_MODULE, an absolute path\n", stderr);
    return;
  }
  /* Never closed: modules keep threads and handlers that outlive dlclose. */
  void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  get_function_list real = module == NULL ? NULL : (get_function_list)dlsym(module, "C_GetFunctionList");
  if (real != NULL) outcome = real(&functions);
  else fprintf(stderr, "the module cannot be opened in isolation: %s\n", dlerror());
}

__attribute__((visibility("default"))) ck_rv C_GetFunctionList(void **list) {
  pthread_once(&once, open_module);
  if (outcome == 0) *list = functions;
  return outcome;
}
