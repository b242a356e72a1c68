/*
 * Functions that Node lacks for a service under systemd: a datagram to the service manager's
 * socket, the peer's user of a Unix socket, the numbers of users and groups, whether the kernel's
 * clock is synchronised, and the return of free memory to the kernel. The datagram must come from
 * the main process, since a unit with NotifyAccess=main accepts it from no other. See sd_notify(3)
 * for the protocol.
 */
#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <malloc.h>
#include <node_api.h>
#include <pwd.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/un.h>
#include <unistd.h>

enum { MESSAGE_MAX = 4096 };

/* Maximum time for which the event loop waits for the service manager. */
static const struct timeval SEND_TIMEOUT = {.tv_sec = 0, .tv_usec = 500000};

/* Sends one datagram. Returns 0 or an errno. */
static int send_datagram(const char *path, size_t path_length, const char *message, size_t length) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (path_length < 2 || path_length >= sizeof address.sun_path) return ENAMETOOLONG;
  if (path[0] != '/' && path[0] != '@') return EAFNOSUPPORT;
  memcpy(address.sun_path, path, path_length);
  socklen_t address_length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path_length);
  /* An abstract name begins with a zero byte and has none at its end. */
  if (path[0] == '@') address.sun_path[0] = '\0';
  else address_length += 1;

  int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return errno;
  int outcome = 0;
  if (setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &SEND_TIMEOUT, sizeof SEND_TIMEOUT) < 0 ||
      sendto(descriptor, message, length, MSG_NOSIGNAL, (const struct sockaddr *)&address, address_length) < 0) {
    outcome = errno;
  }
  close(descriptor);
  return outcome;
}

static napi_value throw_errno(napi_env env, int number) {
  napi_throw_error(env, NULL, strerror(number));
  return NULL;
}

/* send(path, message): both strings. Throws if the message could not be sent. */
static napi_value js_send(napi_env env, napi_callback_info info) {
  napi_value arguments[2];
  size_t count = 2;
  char path[sizeof((struct sockaddr_un *)0)->sun_path + 1];
  char message[MESSAGE_MAX + 1];
  size_t path_length = 0;
  size_t length = 0;
  if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != napi_ok || count != 2 ||
      napi_get_value_string_utf8(env, arguments[0], path, sizeof path, &path_length) != napi_ok ||
      napi_get_value_string_utf8(env, arguments[1], message, sizeof message, &length) != napi_ok) {
    return throw_errno(env, EINVAL);
  }
  /* The call above truncates a message that does not fit: it is not sent in part. */
  if (length >= MESSAGE_MAX) return throw_errno(env, EMSGSIZE);
  int outcome = send_datagram(path, path_length, message, length);
  return outcome == 0 ? NULL : throw_errno(env, outcome);
}

/* closeOnExec(fd): hides an inherited descriptor from this process's children. */
static napi_value js_close_on_exec(napi_env env, napi_callback_info info) {
  napi_value argument;
  size_t count = 1;
  int32_t descriptor = -1;
  if (napi_get_cb_info(env, info, &count, &argument, NULL, NULL) != napi_ok || count != 1 ||
      napi_get_value_int32(env, argument, &descriptor) != napi_ok) {
    return throw_errno(env, EINVAL);
  }
  return fcntl(descriptor, F_SETFD, FD_CLOEXEC) < 0 ? throw_errno(env, errno) : NULL;
}

/*
 * peerUser(fd): uid of the user who connected the Unix socket, as recorded by the kernel at that
 * moment (SO_PEERCRED, unix(7)).
 */
static napi_value js_peer_user(napi_env env, napi_callback_info info) {
  napi_value argument;
  napi_value user;
  size_t count = 1;
  int32_t descriptor = -1;
  struct ucred peer = {.uid = (uid_t)-1};
  socklen_t length = sizeof peer;
  if (napi_get_cb_info(env, info, &count, &argument, NULL, NULL) != napi_ok || count != 1 ||
      napi_get_value_int32(env, argument, &descriptor) != napi_ok) {
    return throw_errno(env, EINVAL);
  }
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0) return throw_errno(env, errno);
  /* The kernel's answer for a socket of another kind. */
  if (peer.uid == (uid_t)-1) return throw_errno(env, ENOTCONN);
  return napi_create_uint32(env, peer.uid, &user) == napi_ok ? user : NULL;
}

/* Maximum length of the entry of a user or a group: enough for thousands of members. */
#define ENTRY_MAX_BYTES (1 << 20)
/* Longer than any account name (useradd(8): 32). */
enum { NAME_MAX_BYTES = 256 };

/*
 * Calls getpwnam_r or getgrnam_r. Returns 0 or an errno; `found` tells whether the account exists.
 */
static int account_number(const char *name, int is_group, uint32_t *number, int *found) {
  *found = 0;
  for (size_t size = 4096; size <= ENTRY_MAX_BYTES; size *= 4) {
    char *space = malloc(size);
    if (space == NULL) return ENOMEM;
    struct passwd user, *the_user = NULL;
    struct group group, *the_group = NULL;
    int outcome = is_group ? getgrnam_r(name, &group, space, size, &the_group) : getpwnam_r(name, &user, space, size, &the_user);
    if (the_user != NULL || the_group != NULL) {
      *found = 1;
      *number = is_group ? group.gr_gid : user.pw_uid;
    }
    free(space);
    if (outcome == ERANGE) continue;
    /* Some name services report an unknown name as an error (getpwnam(3), ERRORS). */
    return *found || outcome == ENOENT || outcome == ESRCH ? 0 : outcome;
  }
  return ERANGE;
}

static napi_value account(napi_env env, napi_callback_info info, int is_group) {
  napi_value argument;
  napi_value answer;
  size_t count = 1;
  char name[NAME_MAX_BYTES + 1];
  size_t length = 0;
  uint32_t number = 0;
  int found = 0;
  if (napi_get_cb_info(env, info, &count, &argument, NULL, NULL) != napi_ok || count != 1 ||
      napi_get_value_string_utf8(env, argument, name, sizeof name, &length) != napi_ok || length >= NAME_MAX_BYTES || strlen(name) != length) {
    return throw_errno(env, EINVAL);
  }
  int outcome = account_number(name, is_group, &number, &found);
  if (outcome != 0) return throw_errno(env, outcome);
  return found && napi_create_uint32(env, number, &answer) == napi_ok ? answer : NULL;
}

/*
 * userNumber(name), groupNumber(name): the number of an account, or undefined (getpwnam(3),
 * getgrnam(3))
 */
static napi_value js_user_number(napi_env env, napi_callback_info info) {
  return account(env, info, 0);
}

static napi_value js_group_number(napi_env env, napi_callback_info info) {
  return account(env, info, 1);
}

/*
 * adjustExternalMemory(bytes): reports the allocation and release of external memory to the garbage
 * collector.
 */
static napi_value js_adjust_external_memory(napi_env env, napi_callback_info info) {
  napi_value argument;
  size_t count = 1;
  int64_t change;
  int64_t total;
  if (napi_get_cb_info(env, info, &count, &argument, NULL, NULL) != napi_ok || count != 1 ||
      napi_get_value_int64(env, argument, &change) != napi_ok || napi_adjust_external_memory(env, change, &total) != napi_ok) {
    return throw_errno(env, EINVAL);
  }
  return NULL;
}

/*
 * clockErrorMicroseconds(): the kernel's bound of its clock error, or -1 if the clock is not
 * synchronised (adjtimex(2)).
 */
static napi_value js_clock_error(napi_env env, napi_callback_info info) {
  (void)info;
  struct timex clock = {.modes = 0};
  int state = adjtimex(&clock);
  if (state < 0) return throw_errno(env, errno);
  int synchronised = state != TIME_ERROR && (clock.status & STA_UNSYNC) == 0;
  napi_value result;
  return napi_create_int64(env, synchronised ? (int64_t)clock.maxerror : -1, &result) == napi_ok ? result : throw_errno(env, EINVAL);
}

/*
 * releaseFreeMemory(): returns the free pages of the C library's heaps to the kernel
 * (malloc_trim(3)).
 */
static napi_value js_release_free_memory(napi_env env, napi_callback_info info) {
  (void)env;
  (void)info;
  malloc_trim(0);
  return NULL;
}

/*
 * Large blocks come from the kernel as zero pages that take no memory until written, and are
 * returned at once.
 */
#define MMAP_THRESHOLD_BYTES (256 * 1024)

NAPI_MODULE_INIT() {
  /*
   * By default, glibc raises the threshold up to 32 MiB: large blocks are then zeroed, and so
   * touched, and stay in the heap after they are freed.
   */
  mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES);
  const napi_property_descriptor properties[] = {
    {"send", NULL, js_send, NULL, NULL, NULL, napi_enumerable, NULL},
    {"closeOnExec", NULL, js_close_on_exec, NULL, NULL, NULL, napi_enumerable, NULL},
    {"peerUser", NULL, js_peer_user, NULL, NULL, NULL, napi_enumerable, NULL},
    {"userNumber", NULL, js_user_number, NULL, NULL, NULL, napi_enumerable, NULL},
    {"groupNumber", NULL, js_group_number, NULL, NULL, NULL, napi_enumerable, NULL},
    {"clockErrorMicroseconds", NULL, js_clock_error, NULL, NULL, NULL, napi_enumerable, NULL},
    {"adjustExternalMemory", NULL, js_adjust_external_memory, NULL, NULL, NULL, napi_enumerable, NULL},
    {"releaseFreeMemory", NULL, js_release_free_memory, NULL, NULL, NULL, napi_enumerable, NULL},
  };
  if (napi_define_properties(env, exports, sizeof properties / sizeof properties[0], properties) != napi_ok) return NULL;
  return exports;
}
