/*
 * Functions that Node lacks for a service under systemd: a datagram to the service manager's
 * socket, the peer's user of a Unix socket, how much of a connection its peer has acknowledged, the
 * numbers of users and groups, a user's groups, access to files as another user, whether the kernel's
 * clock is synchronised, the protection of this process's memory, and the return of free memory to the
 * kernel. The datagram must come from the main process, since a unit with NotifyAccess=main
 * accepts it from no other. See sd_notify(3) for the protocol.
 */
#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <malloc.h>
#include <netinet/in.h>
#include <node_api.h>
#include <pwd.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
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

/* More looks than a peer that acknowledges all the time needs. */
enum { LOOKS_MAX = 100 };

static int acknowledged_bytes(int descriptor, unsigned long long *bytes) {
  struct tcp_info information = {0};
  socklen_t length = sizeof information;
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &information, &length) < 0) return errno;
  if (length < offsetof(struct tcp_info, tcpi_bytes_acked) + sizeof information.tcpi_bytes_acked) return ENOTSUP;
  *bytes = information.tcpi_bytes_acked;
  return 0;
}

/*
 * sentBytes(fd): two numbers of a TCP connection: bytes that the peer has acknowledged (RFC 4898,
 * tcpEStatsAppHCThruOctetsAcked), and bytes that the kernel still holds for it (tcp(7), SIOCOUTQ).
 */
static napi_value js_sent_bytes(napi_env env, napi_callback_info info) {
  napi_value argument;
  napi_value pair;
  napi_value numbers[2];
  size_t count = 1;
  int32_t descriptor = -1;
  if (napi_get_cb_info(env, info, &count, &argument, NULL, NULL) != napi_ok || count != 1 ||
      napi_get_value_int32(env, argument, &descriptor) != napi_ok) {
    return throw_errno(env, EINVAL);
  }
  unsigned long long before = 0;
  unsigned long long after = 0;
  int held = 0;
  int fault = acknowledged_bytes(descriptor, &after);
  /* The two numbers belong together only if nothing was acknowledged between them. */
  for (int look = 0; fault == 0 && look < LOOKS_MAX && (look == 0 || after != before); look += 1) {
    before = after;
    if (ioctl(descriptor, SIOCOUTQ, &held) < 0) fault = errno;
    else fault = acknowledged_bytes(descriptor, &after);
  }
  if (fault != 0) return throw_errno(env, fault);
  if (napi_create_double(env, (double)before, &numbers[0]) != napi_ok || napi_create_int32(env, held, &numbers[1]) != napi_ok ||
      napi_create_array_with_length(env, 2, &pair) != napi_ok || napi_set_element(env, pair, 0, numbers[0]) != napi_ok ||
      napi_set_element(env, pair, 1, numbers[1]) != napi_ok) {
    return NULL;
  }
  return pair;
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

/* Linux has no more for one process (NGROUPS_MAX). */
enum { GROUPS_MAX = 65536 };

/* A question for the groups of a user, which a directory service may take long to answer. */
struct groups_question {
  uid_t user;
  /* 0 or an errno. */
  int outcome;
  /* The user's own group first. NULL: there is no such user. */
  gid_t *groups;
  int count;
  napi_async_work work;
  napi_deferred answer;
};

/* Finds the groups of a user entry. Returns 0 or an errno. */
static int groups_of_entry(const struct passwd *user, struct groups_question *question) {
  for (int room = 64; room <= GROUPS_MAX; room *= 4) {
    int count = room;
    gid_t *groups = malloc((size_t)room * sizeof *groups);
    if (groups == NULL) return ENOMEM;
    if (getgrouplist(user->pw_name, user->pw_gid, groups, &count) >= 0) {
      question->groups = groups;
      question->count = count;
      return 0;
    }
    free(groups);
  }
  return ERANGE;
}

/* Runs on a thread of the pool. */
static void find_groups(napi_env env, void *data) {
  (void)env;
  struct groups_question *question = data;
  question->outcome = ERANGE;
  for (size_t size = 4096; size <= ENTRY_MAX_BYTES && question->outcome == ERANGE; size *= 4) {
    struct passwd user, *found = NULL;
    char *space = malloc(size);
    if (space == NULL) {
      question->outcome = ENOMEM;
      return;
    }
    int outcome = getpwuid_r(question->user, &user, space, size, &found);
    if (found != NULL) outcome = groups_of_entry(found, question);
    else if (outcome == ENOENT || outcome == ESRCH) outcome = 0;
    question->outcome = outcome;
    free(space);
  }
}

static napi_value groups_array(napi_env env, const struct groups_question *question) {
  napi_value array, number;
  if (napi_create_array_with_length(env, (size_t)question->count, &array) != napi_ok) return NULL;
  for (int index = 0; index < question->count; index++) {
    if (napi_create_uint32(env, question->groups[index], &number) != napi_ok ||
        napi_set_element(env, array, (uint32_t)index, number) != napi_ok) {
      return NULL;
    }
  }
  return array;
}

static void answer_groups(napi_env env, napi_status status, void *data) {
  struct groups_question *question = data;
  napi_value value = NULL;
  napi_value text;
  int outcome = status == napi_ok ? question->outcome : ECANCELED;
  if (outcome == 0) {
    if (question->groups == NULL) napi_get_undefined(env, &value);
    else value = groups_array(env, question);
  }
  if (value != NULL) {
    napi_resolve_deferred(env, question->answer, value);
  } else if (napi_create_string_utf8(env, strerror(outcome == 0 ? ENOMEM : outcome), NAPI_AUTO_LENGTH, &text) == napi_ok &&
             napi_create_error(env, NULL, text, &value) == napi_ok) {
    napi_reject_deferred(env, question->answer, value);
  }
  napi_delete_async_work(env, question->work);
  free(question->groups);
  free(question);
}

/*
 * groupsOf(uid): promise of the numbers of a user's groups, their own first, or of undefined if
 * there is no such user (getpwuid(3), getgrouplist(3)).
 */
static napi_value js_groups_of(napi_env env, napi_callback_info info) {
  napi_value argument, promise, name;
  size_t count = 1;
  uint32_t user;
  if (napi_get_cb_info(env, info, &count, &argument, NULL, NULL) != napi_ok || count != 1 ||
      napi_get_value_uint32(env, argument, &user) != napi_ok) {
    return throw_errno(env, EINVAL);
  }
  struct groups_question *question = calloc(1, sizeof *question);
  if (question == NULL) return throw_errno(env, ENOMEM);
  question->user = user;
  if (napi_create_string_utf8(env, "groupsOf", NAPI_AUTO_LENGTH, &name) != napi_ok ||
      napi_create_async_work(env, NULL, name, find_groups, answer_groups, question, &question->work) != napi_ok) {
    free(question);
    return throw_errno(env, ENOMEM);
  }
  if (napi_create_promise(env, &question->answer, &promise) != napi_ok || napi_queue_async_work(env, question->work) != napi_ok) {
    napi_delete_async_work(env, question->work);
    free(question);
    return throw_errno(env, ENOMEM);
  }
  return promise;
}

/*
 * Lets this thread read and search directories as root does: setfsuid takes this capability away
 * with those to write. Returns 0 or an errno.
 */
static int keep_search(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
  if (syscall(SYS_capget, &header, data) < 0) return errno;
  data[0].effective |= data[0].permitted & (1U << CAP_DAC_READ_SEARCH);
  return syscall(SYS_capset, &header, data) < 0 ? errno : 0;
}

/*
 * accessFilesAs(uid, gid, groups): from now on, this thread alone writes and creates files as
 * another user (setfsuid(2)). It can still read what root can, since directories above may be
 * root's. The C library's setgroups would change all threads; the system call changes one.
 */
static napi_value js_access_files_as(napi_env env, napi_callback_info info) {
  napi_value arguments[3], element;
  size_t count = 3;
  uint32_t user, group, length;
  if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != napi_ok || count != 3 ||
      napi_get_value_uint32(env, arguments[0], &user) != napi_ok || napi_get_value_uint32(env, arguments[1], &group) != napi_ok ||
      napi_get_array_length(env, arguments[2], &length) != napi_ok || length > GROUPS_MAX) {
    return throw_errno(env, EINVAL);
  }
  gid_t *groups = calloc(length + 1, sizeof *groups);
  if (groups == NULL) return throw_errno(env, ENOMEM);
  int outcome = 0;
  for (uint32_t index = 0; index < length && outcome == 0; index++) {
    if (napi_get_element(env, arguments[2], index, &element) != napi_ok || napi_get_value_uint32(env, element, &groups[index]) != napi_ok) {
      outcome = EINVAL;
    }
  }
  if (outcome == 0 && syscall(SYS_setgroups, (size_t)length, groups) < 0) outcome = errno;
  free(groups);
  if (outcome != 0) return throw_errno(env, outcome);
  setfsgid(group);
  setfsuid(user);
  /* They report no failure; an invalid number changes nothing and returns the present one. */
  if ((uint32_t)setfsgid((gid_t)-1) != group || (uint32_t)setfsuid((uid_t)-1) != user) return throw_errno(env, EPERM);
  outcome = keep_search();
  return outcome == 0 ? NULL : throw_errno(env, outcome);
}

/*
 * actAs(uid): from now on, this thread alone acts as another user for everything but signals
 * (effective uid), or as root again with 0: root stays its real user. Peers of the Unix sockets that
 * it connects meanwhile see that user. The C library's seteuid would change all threads.
 */
static napi_value js_act_as(napi_env env, napi_callback_info info) {
  napi_value argument;
  size_t count = 1;
  uint32_t user;
  if (napi_get_cb_info(env, info, &count, &argument, NULL, NULL) != napi_ok || count != 1 ||
      napi_get_value_uint32(env, argument, &user) != napi_ok) {
    return throw_errno(env, EINVAL);
  }
  if (syscall(SYS_setresuid, (uid_t)-1, (uid_t)user, (uid_t)-1) < 0) return throw_errno(env, errno);
  return NULL;
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
 * guardMemory(): neither other processes of the same user (ptrace(2), /proc/pid/mem) nor core dumps
 * (core(5)) get this process's memory from now on, and SIGUSR1 is ignored, however Node was started.
 */
static napi_value js_guard_memory(napi_env env, napi_callback_info info) {
  (void)info;
  const struct sigaction ignored = {.sa_handler = SIG_IGN};
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || sigaction(SIGUSR1, &ignored, NULL) < 0) return throw_errno(env, errno);
  return NULL;
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
    {"sentBytes", NULL, js_sent_bytes, NULL, NULL, NULL, napi_enumerable, NULL},
    {"userNumber", NULL, js_user_number, NULL, NULL, NULL, napi_enumerable, NULL},
    {"groupNumber", NULL, js_group_number, NULL, NULL, NULL, napi_enumerable, NULL},
    {"groupsOf", NULL, js_groups_of, NULL, NULL, NULL, napi_enumerable, NULL},
    {"accessFilesAs", NULL, js_access_files_as, NULL, NULL, NULL, napi_enumerable, NULL},
    {"actAs", NULL, js_act_as, NULL, NULL, NULL, napi_enumerable, NULL},
    {"clockErrorMicroseconds", NULL, js_clock_error, NULL, NULL, NULL, napi_enumerable, NULL},
    {"adjustExternalMemory", NULL, js_adjust_external_memory, NULL, NULL, NULL, napi_enumerable, NULL},
    {"guardMemory", NULL, js_guard_memory, NULL, NULL, NULL, napi_enumerable, NULL},
    {"releaseFreeMemory", NULL, js_release_free_memory, NULL, NULL, NULL, napi_enumerable, NULL},
  };
  if (napi_define_properties(env, exports, sizeof properties / sizeof properties[0], properties) != napi_ok) return NULL;
  return exports;
}
