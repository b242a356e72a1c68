/*
 * Operations on the PIN of a token: the caller passes it as bytes and wipes them, and no copy of it
 * is made here. JavaScript strings cannot be wiped, and pkcs11js accepts nothing else.
 */
#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <dlfcn.h>
#include <limits.h>
#include <locale.h>
#include <node_api.h>
#include <pkcs11/pkcs11.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { PATTERN_MAX_BYTES = 1024 };

static napi_value throw_text(napi_env env, const char *text) {
  napi_throw_error(env, NULL, text);
  return NULL;
}

/* Throws an error with the CKR_ value as its `code`, like those of pkcs11js. */
static napi_value throw_rv(napi_env env, CK_RV rv) {
  char text[64];
  napi_value message;
  napi_value error;
  napi_value code;
  snprintf(text, sizeof text, "C_Login returned 0x%lx", rv);
  if (napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &message) != napi_ok || napi_create_error(env, NULL, message, &error) != napi_ok ||
      napi_create_int64(env, (int64_t)rv, &code) != napi_ok || napi_set_named_property(env, error, "code", code) != napi_ok) {
    return throw_text(env, text);
  }
  napi_throw(env, error);
  return NULL;
}

static bool bytes_of(napi_env env, napi_value value, unsigned char **bytes, size_t *length) {
  bool is_buffer = false;
  return napi_is_buffer(env, value, &is_buffer) == napi_ok && is_buffer && napi_get_buffer_info(env, value, (void **)bytes, length) == napi_ok;
}

/*
 * logIn(modulePath, session, userType, pin): C_Login of the module, which pkcs11js has loaded from
 * this path.
 */
static napi_value js_log_in(napi_env env, napi_callback_info info) {
  napi_value arguments[4];
  size_t count = 4;
  char path[PATH_MAX];
  size_t path_length = 0;
  unsigned char *handle;
  size_t handle_length = 0;
  uint32_t user_type = 0;
  unsigned char *pin;
  size_t pin_length = 0;
  if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != napi_ok || count != 4 ||
      napi_get_value_string_utf8(env, arguments[0], path, sizeof path, &path_length) != napi_ok || path_length >= sizeof path - 1 ||
      !bytes_of(env, arguments[1], &handle, &handle_length) || handle_length != sizeof(CK_SESSION_HANDLE) ||
      napi_get_value_uint32(env, arguments[2], &user_type) != napi_ok || !bytes_of(env, arguments[3], &pin, &pin_length)) {
    return throw_text(env, "logIn takes the path of the module, a session, the type of the user and the PIN in bytes");
  }
  CK_SESSION_HANDLE session;
  memcpy(&session, handle, sizeof session);
  /* Only the loaded module, since the handle refers to its sessions. */
  void *module = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (module == NULL) return throw_text(env, "the PKCS#11 module is not loaded");
  CK_C_GetFunctionList get_list = (CK_C_GetFunctionList)dlsym(module, "C_GetFunctionList");
  CK_FUNCTION_LIST_PTR list = NULL;
  CK_RV rv = get_list == NULL ? CKR_FUNCTION_NOT_SUPPORTED : get_list(&list);
  if (rv == CKR_OK) rv = list->C_Login(session, user_type, pin, pin_length);
  dlclose(module);
  return rv == CKR_OK ? NULL : throw_rv(env, rv);
}

/*
 * matches(pattern, bytes): whether a POSIX extended regular expression (regex(7)) matches, byte by
 * byte.
 */
static napi_value js_matches(napi_env env, napi_callback_info info) {
  napi_value arguments[2];
  size_t count = 2;
  char pattern[PATTERN_MAX_BYTES];
  size_t pattern_length = 0;
  unsigned char *bytes;
  size_t length = 0;
  if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != napi_ok || count != 2 ||
      napi_get_value_string_utf8(env, arguments[0], pattern, sizeof pattern, &pattern_length) != napi_ok ||
      pattern_length >= sizeof pattern - 1 || !bytes_of(env, arguments[1], &bytes, &length) || length > INT_MAX) {
    return throw_text(env, "matches takes a pattern of at most 1022 bytes, and bytes");
  }
  /* In a locale with multibyte characters the matcher copies its input. */
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (plain == (locale_t)0) return throw_text(env, "the system lacks the locale C");
  locale_t before = uselocale(plain);
  regex_t compiled;
  char fault[256] = "";
  bool found = false;
  int outcome = regcomp(&compiled, pattern, REG_EXTENDED);
  if (outcome == 0) {
    regmatch_t range = {.rm_so = 0, .rm_eo = (regoff_t)length};
    outcome = regexec(&compiled, (const char *)bytes, 1, &range, REG_STARTEND);
    found = outcome == 0;
    if (outcome == REG_NOMATCH) outcome = 0;
    else if (outcome != 0) regerror(outcome, &compiled, fault, sizeof fault);
    regfree(&compiled);
  } else {
    regerror(outcome, &compiled, fault, sizeof fault);
  }
  uselocale(before);
  freelocale(plain);
  if (outcome != 0) return throw_text(env, fault);
  napi_value answer;
  return napi_get_boolean(env, found, &answer) == napi_ok ? answer : NULL;
}

NAPI_MODULE_INIT() {
  const napi_property_descriptor properties[] = {
    {"logIn", NULL, js_log_in, NULL, NULL, NULL, napi_enumerable, NULL},
    {"matches", NULL, js_matches, NULL, NULL, NULL, napi_enumerable, NULL},
  };
  if (napi_define_properties(env, exports, sizeof properties / sizeof properties[0], properties) != napi_ok) return NULL;
  return exports;
}
