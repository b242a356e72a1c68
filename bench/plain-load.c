/*
 * Load over plain HTTP/1.1 with keep-alive: one thread, epoll, one request in flight on each
 * connection, the same bytes each time, except that --vary overwrites eight of them with a counter
 * (a nonce). After a warm-up it counts for some seconds and prints one line of JSON: answers with a
 * body of more than 100 bytes (signed OCSP responses), shorter ones (tryLater and the like), those
 * with another status, and broken connections.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CONNECTIONS = 1024, MAX_REQUEST = 16384, MAX_ANSWER = 65536, SHORT_BODY = 100 };

typedef struct {
  int socket;
  size_t length;
  double began;
  char answer[MAX_ANSWER];
} Connection;

static struct sockaddr_in address = {.sin_family = AF_INET};
static char request[MAX_REQUEST];
static size_t request_length;
static long vary = -1;
static uint64_t counter;
static int poller;
static Connection *connections;
static long count_long, count_short, count_other, count_broken;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static int send_request(Connection *connection) {
  if (vary >= 0) {
    counter++;
    /* Every octet is below 0x80, so that the surrounding encoding stays valid. */
    for (int index = 0; index < 8; index++) request[vary + index] = (char)((counter >> (7 * index)) & 0x7f);
  }
  connection->length = 0;
  connection->began = now();
  return send(connection->socket, request, request_length, MSG_NOSIGNAL) == (ssize_t)request_length;
}

static void open_connection(int index) {
  Connection *connection = &connections[index];
  for (int attempt = 0; attempt < 1000; attempt++) {
    connection->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (connection->socket < 0) fail("socket");
    int one = 1;
    setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(connection->socket, (struct sockaddr *)&address, sizeof address) == 0 && send_request(connection)) {
      fcntl(connection->socket, F_SETFL, O_NONBLOCK);
      struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)index};
      if (epoll_ctl(poller, EPOLL_CTL_ADD, connection->socket, &event) != 0) fail("epoll_ctl");
      return;
    }
    close(connection->socket);
    usleep(1000);
  }
  fail("connect");
}

static void reopen(int index) {
  close(connections[index].socket);
  open_connection(index);
}

/*
 * Returns the length of the whole answer, 0 if it is incomplete; *body is the length of its body.
 */
static size_t whole(Connection *connection, size_t *body) {
  connection->answer[connection->length] = 0;
  char *end = strstr(connection->answer, "\r\n\r\n");
  if (end == NULL) return 0;
  char *field = strcasestr(connection->answer, "\r\ncontent-length:");
  *body = field != NULL && field < end ? strtoul(field + 17, NULL, 10) : 0;
  size_t total = (size_t)(end + 4 - connection->answer) + *body;
  return connection->length >= total ? total : 0;
}

int main(int argc, char **argv) {
  int count = 32, port = 0, closes;
  double seconds = 5, warmup = 1;
  const char *file = NULL;
  static struct option known[] = {{"port", 1, NULL, 'p'},    {"connections", 1, NULL, 'c'}, {"seconds", 1, NULL, 's'}, {"warmup", 1, NULL, 'w'},
                                  {"request", 1, NULL, 'r'}, {"vary", 1, NULL, 'v'},        {NULL, 0, NULL, 0}};
  for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
    if (option == 'p') port = atoi(optarg);
    else if (option == 'c') count = atoi(optarg);
    else if (option == 's') seconds = atof(optarg);
    else if (option == 'w') warmup = atof(optarg);
    else if (option == 'r') file = optarg;
    else if (option == 'v') vary = atol(optarg);
    else return 2;
  }
  if (file == NULL || port == 0 || count < 1 || count > MAX_CONNECTIONS) return 2;
  signal(SIGPIPE, SIG_IGN);
  FILE *input = fopen(file, "rb");
  if (input == NULL) fail(file);
  request_length = fread(request, 1, sizeof request, input);
  fclose(input);
  if (vary > (long)request_length - 8) return 2;
  address.sin_port = htons((uint16_t)port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  poller = epoll_create1(0);
  connections = calloc((size_t)count, sizeof(Connection));
  if (poller < 0 || connections == NULL) fail("start");
  for (int index = 0; index < count; index++) open_connection(index);

  double begin = now() + warmup, end = begin + seconds;
  struct epoll_event events[256];
  for (double time = now(); time < end; time = now()) {
    int ready = epoll_wait(poller, events, 256, 100);
    for (int at = 0; at < ready; at++) {
      int index = (int)events[at].data.u32;
      Connection *connection = &connections[index];
      ssize_t got = recv(connection->socket, connection->answer + connection->length, MAX_ANSWER - 1 - connection->length, 0);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (got <= 0) {
        if (time >= begin) count_broken++;
        reopen(index);
        continue;
      }
      connection->length += (size_t)got;
      size_t body = 0;
      if (whole(connection, &body) == 0) continue;
      if (time >= begin) {
        if (strncmp(connection->answer, "HTTP/1.1 200", 12) != 0) count_other++;
        else if (body > SHORT_BODY) count_long++;
        else count_short++;
      }
      closes = strcasestr(connection->answer, "\r\nconnection: close") != NULL;
      if (closes || !send_request(connection)) reopen(index);
    }
  }
  printf("{\"seconds\":%.3f,\"signed\":%ld,\"unsigned\":%ld,\"otherStatus\":%ld,\"broken\":%ld}\n", seconds, count_long, count_short, count_other,
         count_broken);
  return 0;
}
