/*
 * Load over HTTPS with a client certificate: one thread, epoll, TLS 1.3, HTTP/1.1 with keep-alive.
 * Each connection has one request in flight. After a warm-up it counts the expected answers for
 * some seconds and prints one line of JSON. In Node, the client would cost more than the server
 * that it measures.
 *
 * With --pids it also reports the CPU time that each of these processes used while it counted.
 *
 * With --rate, requests come in an open loop: at a fixed rate, whatever happens to earlier ones.
 * Requests without a free connection wait in the client and are reported separately. 503 and 429
 * are then counted as refusals, not as errors, and their Retry-After is respected.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CONNECTIONS = 4096, MAX_HEAD = 16384, MAX_BODY = 64 * 1024 * 1024, MAX_PIDS = 32, MAX_FAILURES_IN_A_ROW = 200 };
#define DRAIN_SECONDS 3.0

typedef enum { CONNECTING, SHAKING_HANDS, WRITING, READING, RESTING } Phase;
typedef enum { HEAD, BODY_BY_LENGTH, BODY_TO_END, CHUNK_SIZE, CHUNK_DATA, CHUNK_END, TRAILER, COMPLETE, MALFORMED } Part;

typedef struct {
  int socket, wants_write;
  SSL *ssl;
  Phase phase;
  size_t written;
  double begun, rests_until;
  Part part;
  char line[MAX_HEAD]; /* the head, or one line of the chunked framing */
  size_t line_length, remaining;
  int status, closes;
  char *body;
  size_t body_length, body_capacity;
} Connection;

static struct {
  const char *host, *port, *path, *certificate, *key, *authority, *body_file, *expected;
  int connections;
  double seconds, warm_up, rate;
  long pids[MAX_PIDS];
  int pid_count;
} options = {.connections = 8, .seconds = 5, .warm_up = 2, .expected = ""};

static SSL_CTX *context;
static struct addrinfo *address;
static int poller, counting, draining, failures_in_a_row;
static char *request;
static size_t request_length;

static uint64_t answered, errors, reconnections;
static char first_error[256], row_error[256]; /* of the counted requests, and of consecutive failures */
static double *latencies, *refusal_latencies;
static size_t latency_capacity, refusal_capacity;
static uint64_t refused, refused_503, refused_429;

/* The open loop: its start, the number of requests sent since, and the idle connections. */
static double open_since;
static uint64_t sent;
static Connection **idle, **resting;
static int idle_count, resting_count;

static void fail(const char *what) {
  fprintf(stderr, "load: %s\n", what);
  ERR_print_errors_fp(stderr);
  exit(1);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double own_cpu(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/*
 * Returns user and system time of a process with all its threads, or -1 if there is no such
 * process.
 */
static double cpu_of(long pid) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%ld/stat", pid);
  FILE *file = fopen(path, "r");
  if (file == NULL) return -1;
  size_t length = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[length] = '\0';
  unsigned long user, system;
  char *after_name = strrchr(text, ')');
  if (after_name == NULL || sscanf(after_name + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2) return -1;
  return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static void note_error(const char *what, const char *detail, size_t detail_length) {
  failures_in_a_row++;
  if (failures_in_a_row == 1) {
    snprintf(row_error, sizeof row_error, "%s: %.*s", what, (int)(detail_length < 200 ? detail_length : 200), detail);
    /* It goes into a JSON string. */
    for (char *one = row_error; *one != '\0'; one++) {
      if (*one == '"' || *one == '\\') *one = '\'';
      else if ((unsigned char)*one < 0x20 || (unsigned char)*one > 0x7e) *one = ' ';
    }
  }
  if (!counting) return;
  if (errors++ == 0) memcpy(first_error, row_error, sizeof first_error);
}

static void note_answer(double latency) {
  failures_in_a_row = 0;
  if (!counting) return;
  if (answered == latency_capacity) {
    latency_capacity = latency_capacity == 0 ? 65536 : 2 * latency_capacity;
    latencies = realloc(latencies, latency_capacity * sizeof *latencies);
    if (latencies == NULL) fail("out of memory");
  }
  latencies[answered++] = latency;
}

static void note_refusal(int status, double latency) {
  failures_in_a_row = 0;
  if (!counting) return;
  if (refused == refusal_capacity) {
    refusal_capacity = refusal_capacity == 0 ? 65536 : 2 * refusal_capacity;
    refusal_latencies = realloc(refusal_latencies, refusal_capacity * sizeof *refusal_latencies);
    if (refusal_latencies == NULL) fail("out of memory");
  }
  refusal_latencies[refused++] = latency;
  if (status == 503) refused_503++;
  else refused_429++;
}

static void watch(Connection *connection, int wants_write, int operation) {
  struct epoll_event event = {.events = EPOLLIN | (wants_write ? EPOLLOUT : 0), .data.ptr = connection};
  if (operation == EPOLL_CTL_MOD && connection->wants_write == wants_write) return;
  connection->wants_write = wants_write;
  if (epoll_ctl(poller, operation, connection->socket, &event) != 0) fail("epoll_ctl");
}

static void open_connection(Connection *connection) {
  int yes = 1;
  connection->socket = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (connection->socket < 0) fail("socket");
  setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  connection->ssl = SSL_new(context);
  if (connection->ssl == NULL || SSL_set_fd(connection->ssl, connection->socket) != 1) fail("SSL_new");
  struct in6_addr number;
  int is_number = inet_pton(AF_INET, options.host, &number) == 1 || inet_pton(AF_INET6, options.host, &number) == 1;
  if (is_number) {
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(connection->ssl), options.host) != 1) fail("the address of the host");
  } else if (SSL_set1_host(connection->ssl, options.host) != 1 || SSL_set_tlsext_host_name(connection->ssl, options.host) != 1) {
    fail("the name of the host");
  }
  connection->phase = CONNECTING;
  int connected = connect(connection->socket, address->ai_addr, address->ai_addrlen);
  if (connected != 0 && errno != EINPROGRESS) fail("the connection was refused");
  watch(connection, 1, EPOLL_CTL_ADD);
}

static void close_connection(Connection *connection) {
  if (connection->phase >= WRITING) SSL_shutdown(connection->ssl);
  ERR_clear_error();
  SSL_free(connection->ssl);
  close(connection->socket);
  connection->socket = -1;
  connection->phase = RESTING;
}

static void reopen(Connection *connection) {
  for (int index = 0; index < idle_count; index++) {
    if (idle[index] == connection) idle[index--] = idle[--idle_count];
  }
  for (int index = 0; index < resting_count; index++) {
    if (resting[index] == connection) resting[index--] = resting[--resting_count];
  }
  close_connection(connection);
  if (draining) return;
  if (failures_in_a_row > MAX_FAILURES_IN_A_ROW) {
    fprintf(stderr, "load: too many failures in a row; the first: %s\n", row_error);
    exit(1);
  }
  reconnections++;
  open_connection(connection);
}

/* Returns the number of requests that are due in the open loop and not yet sent. */
static uint64_t backlog(void) {
  uint64_t arrived = (uint64_t)((now() - open_since) * options.rate);
  return arrived > sent ? arrived - sent : 0;
}

/* Respects Retry-After: the connection stays idle until then. */
static int rests(Connection *connection) {
  if (now() >= connection->rests_until) return 0;
  connection->phase = RESTING;
  resting[resting_count++] = connection;
  return 1;
}

static void wake_rested(void) {
  double moment = now();
  for (int index = 0; index < resting_count; index++) {
    if (resting[index]->rests_until > moment) continue;
    idle[idle_count++] = resting[index];
    resting[index--] = resting[--resting_count];
  }
}

static void begin_request(Connection *connection) {
  if (options.rate > 0 && !draining) {
    if (rests(connection)) return;
    if (backlog() == 0) {
      connection->phase = RESTING;
      idle[idle_count++] = connection;
      return;
    }
    sent++;
  }
  connection->written = 0;
  connection->part = HEAD;
  connection->line_length = connection->body_length = 0;
  connection->phase = draining ? RESTING : WRITING;
  connection->begun = now();
}

/* --- the answer --- */

static void append_body(Connection *connection, const char *bytes, size_t length) {
  if (connection->body_length + length + 1 > MAX_BODY) {
    connection->part = MALFORMED;
    return;
  }
  if (connection->body_length + length + 1 > connection->body_capacity) {
    connection->body_capacity = 2 * (connection->body_length + length + 1);
    connection->body = realloc(connection->body, connection->body_capacity);
    if (connection->body == NULL) fail("out of memory");
  }
  memcpy(connection->body + connection->body_length, bytes, length);
  connection->body_length += length;
}

/* Returns the value of a header field, NULL if it is absent. The head is a string of lines. */
static const char *field(const char *head, const char *name) {
  size_t length = strlen(name);
  for (const char *line = strstr(head, "\r\n"); line != NULL; line = strstr(line + 2, "\r\n")) {
    if (strncasecmp(line + 2, name, length) == 0 && line[2 + length] == ':') return line + 3 + length + strspn(line + 3 + length, " \t");
  }
  return NULL;
}

static int starts_with(const char *value, const char *token) {
  return value != NULL && strncasecmp(value, token, strlen(token)) == 0;
}

static void read_head(Connection *connection) {
  const char *head = connection->line, *length = field(head, "Content-Length");
  connection->part = MALFORMED;
  if (sscanf(head, "HTTP/1.%*1[01] %3d", &connection->status) != 1) return;
  connection->closes = starts_with(field(head, "Connection"), "close");
  const char *retry = field(head, "Retry-After");
  if (retry != NULL) connection->rests_until = now() + strtod(retry, NULL);
  if (starts_with(field(head, "Transfer-Encoding"), "chunked")) {
    connection->part = CHUNK_SIZE;
  } else if (length != NULL) {
    connection->remaining = strtoull(length, NULL, 10);
    connection->part = connection->remaining == 0 ? COMPLETE : BODY_BY_LENGTH;
  } else {
    connection->part = BODY_TO_END;
  }
  connection->line_length = 0;
}

/* Handles a complete line of the chunked framing, without its line end. */
static void read_line(Connection *connection) {
  if (connection->part == CHUNK_SIZE) {
    char *end;
    connection->remaining = strtoull(connection->line, &end, 16);
    if (end == connection->line) connection->part = MALFORMED;
    else connection->part = connection->remaining == 0 ? TRAILER : CHUNK_DATA;
  } else if (connection->part == CHUNK_END) {
    connection->part = connection->line_length == 0 ? CHUNK_SIZE : MALFORMED;
  } else if (connection->line_length == 0) {
    connection->part = COMPLETE;
  }
  connection->line_length = 0;
}

/* Adds one byte to the head or the line. */
static void take_byte(Connection *connection, char byte) {
  if (connection->line_length == MAX_HEAD - 1) {
    connection->part = MALFORMED;
    return;
  }
  connection->line[connection->line_length++] = byte;
  connection->line[connection->line_length] = '\0';
  if (byte != '\n') return;
  if (connection->part == HEAD) {
    if (connection->line_length >= 4 && memcmp(connection->line + connection->line_length - 4, "\r\n\r\n", 4) == 0) read_head(connection);
    return;
  }
  connection->line_length -= connection->line_length >= 2 && connection->line[connection->line_length - 2] == '\r' ? 2 : 1;
  connection->line[connection->line_length] = '\0';
  read_line(connection);
}

static void take(Connection *connection, const char *bytes, size_t length) {
  while (length > 0 && connection->part < COMPLETE) {
    size_t used = 1;
    if (connection->part == BODY_BY_LENGTH || connection->part == CHUNK_DATA) {
      used = length < connection->remaining ? length : connection->remaining;
      append_body(connection, bytes, used);
      connection->remaining -= used;
      if (connection->remaining == 0 && connection->part != MALFORMED) connection->part = connection->part == CHUNK_DATA ? CHUNK_END : COMPLETE;
    } else if (connection->part == BODY_TO_END) {
      used = length;
      append_body(connection, bytes, used);
    } else {
      take_byte(connection, *bytes);
    }
    bytes += used;
    length -= used;
  }
  if (length > 0) connection->part = MALFORMED; /* more than was requested */
}

/* Checks a complete answer and continues with the next request. */
static void finish(Connection *connection) {
  int expected = memmem(connection->body, connection->body_length, options.expected, strlen(options.expected)) != NULL;
  if (options.expected[0] == '\0') expected = 1;
  char what[32];
  snprintf(what, sizeof what, "status %d", connection->status);
  if (options.rate > 0 && (connection->status == 503 || connection->status == 429)) note_refusal(connection->status, now() - connection->begun);
  else if (connection->status == 200 && expected) note_answer(now() - connection->begun);
  else note_error(what, connection->body_length > 0 ? connection->body : "", connection->body_length);
  if (failures_in_a_row > MAX_FAILURES_IN_A_ROW || connection->closes || connection->part == BODY_TO_END) reopen(connection);
  else begin_request(connection);
}

/* --- the connection --- */

static void broken(Connection *connection, const char *what) {
  unsigned long code = ERR_peek_error();
  const char *reason = code != 0 ? ERR_reason_error_string(code) : errno != 0 ? strerror(errno) : "closed";
  if (reason == NULL) reason = "unknown";
  if (connection->phase != RESTING) note_error(what, reason, strlen(reason));
  reopen(connection);
}

/* Handles an unsuccessful SSL call: 1 if it only has to wait. */
static int waits(Connection *connection, int outcome) {
  int error = SSL_get_error(connection->ssl, outcome);
  if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) return 0;
  watch(connection, error == SSL_ERROR_WANT_WRITE, EPOLL_CTL_MOD);
  return 1;
}

/* Advances one connection as far as possible without waiting. */
static void advance(Connection *connection) {
  static char buffer[65536];
  for (;;) {
    ERR_clear_error();
    errno = 0;
    if (connection->phase == CONNECTING) {
      int error = 0;
      socklen_t length = sizeof error;
      getsockopt(connection->socket, SOL_SOCKET, SO_ERROR, &error, &length);
      errno = error;
      if (error != 0) return broken(connection, "connection");
      connection->phase = SHAKING_HANDS;
    } else if (connection->phase == SHAKING_HANDS) {
      int outcome = SSL_connect(connection->ssl);
      if (outcome != 1) {
        if (!waits(connection, outcome)) broken(connection, "handshake");
        return;
      }
      begin_request(connection);
    } else if (connection->phase == WRITING) {
      int written = SSL_write(connection->ssl, request + connection->written, (int)(request_length - connection->written));
      if (written <= 0) {
        if (!waits(connection, written)) broken(connection, "request");
        return;
      }
      connection->written += (size_t)written;
      if (connection->written < request_length) continue;
      connection->phase = READING;
      watch(connection, 0, EPOLL_CTL_MOD);
      if (!SSL_has_pending(connection->ssl)) return;
    } else {
      int length = SSL_read(connection->ssl, buffer, sizeof buffer);
      if (length <= 0) {
        if (waits(connection, length)) return;
        if (connection->phase == READING && connection->part == BODY_TO_END) return finish(connection);
        return broken(connection, "answer");
      }
      if (connection->phase == RESTING) return broken(connection, "unasked answer");
      take(connection, buffer, (size_t)length);
      if (connection->part == MALFORMED) return broken(connection, "malformed answer");
      if (connection->part == COMPLETE) {
        finish(connection);
        if (connection->phase != WRITING) return;
      }
    }
  }
}

/* --- the run --- */

static void build_request(void) {
  FILE *file = fopen(options.body_file, "rb");
  if (file == NULL) fail("the body file cannot be read");
  fseek(file, 0, SEEK_END);
  long body_length = ftell(file);
  rewind(file);
  if (body_length < 0 || body_length > MAX_BODY) fail("the body file is too large");
  char head[4096];
  int head_length = snprintf(head, sizeof head, "POST %s HTTP/1.1\r\nHost: %s:%s\r\nContent-Type: application/json\r\nContent-Length: %ld\r\n\r\n",
                             options.path, options.host, options.port, body_length);
  if (head_length < 0 || (size_t)head_length >= sizeof head) fail("the path is too long");
  request_length = (size_t)head_length + (size_t)body_length;
  request = malloc(request_length);
  if (request == NULL) fail("out of memory");
  memcpy(request, head, (size_t)head_length);
  if (fread(request + head_length, 1, (size_t)body_length, file) != (size_t)body_length) fail("the body file cannot be read");
  fclose(file);
}

static void prepare(void) {
  context = SSL_CTX_new(TLS_client_method());
  if (context == NULL || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1) fail("TLS 1.3");
  if (SSL_CTX_use_certificate_chain_file(context, options.certificate) != 1) fail("the client certificate");
  if (SSL_CTX_use_PrivateKey_file(context, options.key, SSL_FILETYPE_PEM) != 1) fail("the client key");
  if (SSL_CTX_load_verify_locations(context, options.authority, NULL) != 1) fail("the certificate of the authority");
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context, 1);
  struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  if (getaddrinfo(options.host, options.port, &hints, &address) != 0) fail("the host is not known");
  poller = epoll_create1(EPOLL_CLOEXEC);
  if (poller < 0) fail("epoll");
  build_request();
}

/*
 * Serves the connections until a point in time or, while draining, until none has a request in
 * flight.
 */
static void serve_until(double end, const Connection *connections) {
  struct epoll_event events[256];
  for (double left = end - now(); left > 0; left = end - now()) {
    if (draining) {
      int busy = 0;
      for (int index = 0; index < options.connections; index++) busy += connections[index].phase != RESTING;
      if (busy == 0) return;
    }
    int wait = (int)(left * 1000) + 1;
    if (options.rate > 0 && !draining) {
      wait = 1;
      wake_rested();
      while (idle_count > 0 && backlog() > 0) {
        Connection *connection = idle[--idle_count];
        begin_request(connection);
        advance(connection);
      }
    }
    int count = epoll_wait(poller, events, 256, wait);
    if (count < 0 && errno != EINTR) fail("epoll_wait");
    for (int index = 0; index < count; index++) advance(events[index].data.ptr);
  }
}

static int compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* In milliseconds; 0 if nothing was answered. The latencies are sorted. */
static double percentile_of(const double *sorted, size_t length, double share) {
  if (length == 0) return 0;
  size_t rank = (size_t)(share * (double)length);
  return 1000 * sorted[rank < length ? rank : length - 1];
}

static double percentile(double share) {
  return percentile_of(latencies, answered, share);
}

static void run(void) {
  Connection *connections = calloc((size_t)options.connections, sizeof *connections);
  double watched[MAX_PIDS];
  idle = calloc((size_t)options.connections, sizeof *idle);
  resting = calloc((size_t)options.connections, sizeof *resting);
  if (connections == NULL || idle == NULL || resting == NULL) fail("out of memory");
  open_since = now();
  for (int index = 0; index < options.connections; index++) open_connection(&connections[index]);
  serve_until(now() + options.warm_up, connections);

  for (int index = 0; index < options.pid_count; index++) watched[index] = cpu_of(options.pids[index]);
  double start = now(), cpu = own_cpu();
  uint64_t reconnected = reconnections;
  /* Requests that waited for connections to open do not count. */
  open_since = start;
  sent = 0;
  counting = 1;
  serve_until(start + options.seconds, connections);
  counting = 0;
  uint64_t unsent = options.rate > 0 ? backlog() : 0;
  double elapsed = now() - start;
  cpu = own_cpu() - cpu;
  reconnected = reconnections - reconnected;
  for (int index = 0; index < options.pid_count; index++) {
    double after = cpu_of(options.pids[index]);
    watched[index] = after < 0 || watched[index] < 0 ? -1 : after - watched[index];
  }
  draining = 1;
  serve_until(now() + DRAIN_SECONDS, connections);
  for (int index = 0; index < options.connections; index++) {
    if (connections[index].socket >= 0) close_connection(&connections[index]);
  }

  if (answered > 0) qsort(latencies, answered, sizeof *latencies, compare);
  printf("{\"connections\":%d,\"seconds\":%.3f,\"requests\":%lu,\"requestsPerSecond\":%.2f,\"errors\":%lu,\"firstError\":\"%s\",\"reconnections\":%lu,",
         options.connections, elapsed, answered, (double)answered / elapsed, errors, first_error, reconnected);
  printf("\"p50Milliseconds\":%.3f,\"p99Milliseconds\":%.3f,\"maxMilliseconds\":%.3f,", percentile(0.5), percentile(0.99), percentile(1));
  if (options.rate > 0) {
    if (refused > 0) qsort(refusal_latencies, refused, sizeof *refusal_latencies, compare);
    printf("\"openLoop\":{\"sent\":%lu,\"unsent\":%lu,\"refused503\":%lu,\"refused429\":%lu,\"refusedP50Milliseconds\":%.3f,\"refusedP99Milliseconds\":%.3f},",
           sent, unsent, refused_503, refused_429, percentile_of(refusal_latencies, refused, 0.5), percentile_of(refusal_latencies, refused, 0.99));
  }
  printf("\"cpuSeconds\":%.3f,\"cpuSecondsPerRequest\":%.9f,\"processes\":[", cpu, answered == 0 ? 0 : cpu / (double)answered);
  for (int index = 0; index < options.pid_count; index++) {
    if (watched[index] < 0) printf("%s{\"pid\":%ld,\"cpuSeconds\":null}", index == 0 ? "" : ",", options.pids[index]);
    else printf("%s{\"pid\":%ld,\"cpuSeconds\":%.2f}", index == 0 ? "" : ",", options.pids[index], watched[index]);
  }
  puts("]}");
}

static void read_pids(char *list) {
  for (char *one = strtok(list, ","); one != NULL && options.pid_count < MAX_PIDS; one = strtok(NULL, ",")) options.pids[options.pid_count++] = atol(one);
}

int main(int count, char **arguments) {
  static const struct option names[] = {
      {"host", required_argument, NULL, 'h'},      {"port", required_argument, NULL, 'p'},        {"path", required_argument, NULL, 'u'},
      {"cert", required_argument, NULL, 'c'},      {"key", required_argument, NULL, 'k'},         {"ca", required_argument, NULL, 'a'},
      {"body-file", required_argument, NULL, 'b'}, {"connections", required_argument, NULL, 'n'}, {"seconds", required_argument, NULL, 's'},
      {"warmup", required_argument, NULL, 'w'},    {"expect", required_argument, NULL, 'e'},      {"pids", required_argument, NULL, 'i'},
      {"rate", required_argument, NULL, 'r'},
      {0},
  };
  int option;
  while ((option = getopt_long(count, arguments, "", names, NULL)) != -1) {
    if (option == 'h') options.host = optarg;
    else if (option == 'p') options.port = optarg;
    else if (option == 'u') options.path = optarg;
    else if (option == 'c') options.certificate = optarg;
    else if (option == 'k') options.key = optarg;
    else if (option == 'a') options.authority = optarg;
    else if (option == 'b') options.body_file = optarg;
    else if (option == 'n') options.connections = atoi(optarg);
    else if (option == 's') options.seconds = atof(optarg);
    else if (option == 'w') options.warm_up = atof(optarg);
    else if (option == 'e') options.expected = optarg;
    else if (option == 'i') read_pids(optarg);
    else if (option == 'r') options.rate = atof(optarg);
    else return 2;
  }
  int complete = options.host && options.port && options.path && options.certificate && options.key && options.authority && options.body_file;
  int sensible = options.connections >= 1 && options.connections <= MAX_CONNECTIONS && options.seconds > 0 && options.seconds <= 600 &&
                 options.warm_up >= 0 && options.warm_up <= 600 && options.rate >= 0;
  if (!complete || !sensible) {
    fputs("usage: load --host H --port P --path /P --cert C --key K --ca A --body-file F [--connections 8] [--seconds 5] [--warmup 2]\n"
          "            [--expect TEXT] [--pids 1,2] [--rate 10000]\n", stderr);
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  prepare();
  run();
  return 0;
}
