/* Arguments of the native functions that are bytes. */
#ifndef SIGNETD_BYTES_H
#define SIGNETD_BYTES_H

#include <node_api.h>
#include <stdbool.h>
#include <stddef.h>

struct bytes {
  unsigned char *data;
  size_t length;
};

/* Reads the bytes of a Buffer or another Uint8Array. `data` is never NULL, even for an empty array. */
static inline bool read_bytes(napi_env env, napi_value value, struct bytes *bytes) {
  static unsigned char nothing[1];
  bool is_array = false;
  napi_typedarray_type type;
  void *data = NULL;
  if (napi_is_typedarray(env, value, &is_array) != napi_ok || !is_array ||
      napi_get_typedarray_info(env, value, &type, &bytes->length, &data, NULL, NULL) != napi_ok || type != napi_uint8_array) {
    return false;
  }
  /* An empty array may have no memory. */
  bytes->data = bytes->length == 0 || data == NULL ? nothing : data;
  if (data == NULL) bytes->length = 0;
  return true;
}

/* Throws a TypeError, unless Node has thrown another error already. */
static inline napi_value throw_type(napi_env env, const char *message) {
  bool pending = false;
  if (napi_is_exception_pending(env, &pending) != napi_ok || !pending) napi_throw_type_error(env, NULL, message);
  return NULL;
}

#endif
