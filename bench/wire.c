/*
 * The two ends of the benchmark, in C so that they cost less than what stands between them. bench/wire.ts compiles and runs it:
 *   wire upstream PORT                an upstream that answers from memory, with JSON or with streams of stamped events
 *   wire load FILE name=value...      a load on 127.0.0.1, closed loop or at a fixed rate; prints one line of JSON
 * FILE holds requests as they go over the wire, each behind its length in four bytes (little endian), sent in turns.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef uint64_t u64;
enum { POLL_EVENTS = 512, STAMP_DIGITS = 18, BACK_TO_BACK = 16, READ_BYTES = 1 << 18, KEPT_BYTES = 1 << 20 };
static const char STAMP_MARK[] = "@t=";
static char scratch[READ_BYTES];
static int poller;

static u64 now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (u64)t.tv_sec * 1000000000ull + (u64)t.tv_nsec;
}

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static void watch(int fd, void *owner, bool writes, bool isNew) {
  struct epoll_event event = {.events = EPOLLIN | (writes ? EPOLLOUT : 0), .data.ptr = owner};
  if (epoll_ctl(poller, isNew ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event) < 0) fail("epoll_ctl");
}

/* Waits until something can be read or written, or until the instant is there: to the microsecond, unlike epoll_wait. */
static int wait_until(struct epoll_event *events, u64 due_ns) {
  u64 now = now_ns();
  u64 left = due_ns > now ? due_ns - now : 0;
  struct timespec timeout = {.tv_sec = (time_t)(left / 1000000000ull), .tv_nsec = (long)(left % 1000000000ull)};
  int count = epoll_pwait2(poller, events, POLL_EVENTS, &timeout, NULL);
  if (count < 0 && errno != EINTR) fail("epoll_pwait2");
  return count < 0 ? 0 : count;
}

static void prepare(void) {
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  prctl(PR_SET_TIMERSLACK, 1);
  poller = epoll_create1(0);
}

static void set_up_socket(int fd) {
  int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static char *format(size_t *length, const char *pattern, ...) {
  char *text;
  va_list values;
  va_start(values, pattern);
  int written = vasprintf(&text, pattern, values);
  va_end(values);
  if (written < 0) fail("vasprintf");
  *length = (size_t)written;
  return text;
}

/* ---- upstream ---- */

struct answer {
  char *bytes;
  size_t length;
};

struct stream {
  int fd;
  char *kept;
  size_t keptLength;
  /* What is left of a request's body that is longer than what is kept. */
  size_t skips;
  bool isOpen, isMessages, isWaiting, isQueued, isClosed;
  const char *out;
  size_t outLength;
  char tail[4096];
  long eventsLeft;
  u64 dueNs;
  struct stream *next;
};

static const char EVENT[] =
    "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"bench-upstream\","
    "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"@t=%018llu \"},\"finish_reason\":null}]}\n\n";
static const char MESSAGES_EVENT[] =
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\","
    "\"text\":\"@t=%018llu and as long as the other, of some words\"}}\n\n";
static const char LAST[] =
    "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"bench-upstream\","
    "\"choices\":[],\"usage\":{\"prompt_tokens\":21,\"completion_tokens\":8,\"total_tokens\":29}}\n\ndata: [DONE]\n\n";
static const char MESSAGES_LAST[] =
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},"
    "\"usage\":{\"input_tokens\":21,\"output_tokens\":8}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
static const char STREAM_HEAD[] =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";

static struct answer chatAnswer, embeddingsAnswer, modelsAnswer, eventFrames[2], lastFrames[2];
static size_t stampAt[2];
static long eventCount = 200;
static u64 intervalNs;
static u64 seenRequests, openStreams, finishing;
/* Streams in the order in which their next event is due: all have one interval, so what is served goes to the end. */
static struct stream *firstDue, *lastDue;

static struct answer to_answer(const char *body, size_t length) {
  struct answer made;
  size_t headLength;
  char *head = format(&headLength, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %zu\r\n\r\n", length);
  made.bytes = malloc(headLength + length);
  memcpy(made.bytes, head, headLength);
  memcpy(made.bytes + headLength, body, length);
  made.length = headLength + length;
  free(head);
  return made;
}

static void make_chat_answer(size_t contentBytes) {
  char *content = malloc(contentBytes + 1);
  for (size_t at = 0; at < contentBytes; at++) content[at] = "a few words of an answer "[at % 25];
  content[contentBytes] = 0;
  size_t length;
  char *body = format(&length,
      "{\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion\",\"created\":1700000000,\"model\":\"bench-upstream\",\"choices\":"
      "[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"%s\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":21,"
      "\"completion_tokens\":8,\"total_tokens\":29,\"prompt_tokens_details\":{\"cached_tokens\":0}}}", content);
  free(chatAnswer.bytes);
  chatAnswer = to_answer(body, length);
  free(body);
  free(content);
}

/* 2,048 vectors of 256 dimensions in base64, as the usual client asks for them: 2.9 MB. */
static void make_embeddings_answer(void) {
  char *body;
  size_t length;
  FILE *memory = open_memstream(&body, &length);
  fprintf(memory, "{\"object\":\"list\",\"model\":\"bench-upstream\",\"data\":[");
  for (int index = 0; index < 2048; index++) {
    fprintf(memory, "%s{\"object\":\"embedding\",\"index\":%d,\"embedding\":\"", index ? "," : "", index);
    for (int at = 0; at < 1364; at++) fputc("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef"[(at * 7 + index) % 32], memory);
    fprintf(memory, "AA==\"}");
  }
  fprintf(memory, "],\"usage\":{\"prompt_tokens\":20480,\"total_tokens\":20480}}");
  fclose(memory);
  embeddingsAnswer = to_answer(body, length);
  free(body);
}

static struct answer to_frame(const char *text, size_t length, bool isLast) {
  struct answer made;
  made.bytes = format(&made.length, "%zx\r\n%.*s\r\n%s", length, (int)length, text, isLast ? "0\r\n\r\n" : "");
  return made;
}

static void make_frames(void) {
  const char *patterns[] = {EVENT, MESSAGES_EVENT};
  const char *lasts[] = {LAST, MESSAGES_LAST};
  for (int kind = 0; kind < 2; kind++) {
    char text[1024];
    int length = snprintf(text, sizeof text, patterns[kind], 0ull);
    eventFrames[kind] = to_frame(text, (size_t)length, false);
    stampAt[kind] = (size_t)(strstr(eventFrames[kind].bytes, STAMP_MARK) - eventFrames[kind].bytes) + strlen(STAMP_MARK);
    lastFrames[kind] = to_frame(lasts[kind], strlen(lasts[kind]), true);
  }
}

static void stamp(char *digits, u64 value) {
  for (int at = STAMP_DIGITS - 1; at >= 0; at--, value /= 10) digits[at] = (char)('0' + value % 10);
}

static void enqueue(struct stream *stream) {
  stream->next = NULL;
  stream->isQueued = true;
  if (lastDue) lastDue->next = stream;
  else firstDue = stream;
  lastDue = stream;
}

/* What waited for its socket is late already. */
static void enqueue_first(struct stream *stream) {
  stream->next = firstDue;
  stream->isQueued = true;
  firstDue = stream;
  if (!lastDue) lastDue = stream;
}

static void close_stream(struct stream *stream) {
  if (stream->isOpen) openStreams--;
  close(stream->fd);
  free(stream->kept);
  stream->kept = NULL;
  stream->isClosed = true;
  /* What stands in the line of due streams is freed when its turn comes. */
  if (!stream->isQueued) free(stream);
}

/* Sends what it can; the rest waits for the socket. */
static void send_answer(struct stream *stream, const char *bytes, size_t length) {
  ssize_t sent = send(stream->fd, bytes, length, MSG_NOSIGNAL);
  if (sent < 0) sent = 0;
  stream->out = bytes + sent;
  stream->outLength = length - (size_t)sent;
  if (stream->outLength > 0 && stream->outLength <= sizeof stream->tail) {
    memcpy(stream->tail, stream->out, stream->outLength);
    stream->out = stream->tail;
  }
  bool waits = stream->outLength > 0;
  if (waits != stream->isWaiting) watch(stream->fd, stream, waits, false);
  stream->isWaiting = waits;
}

static void send_event(struct stream *stream) {
  int kind = stream->isMessages;
  if (stream->eventsLeft <= 0 || finishing) {
    stream->isOpen = false;
    openStreams--;
    send_answer(stream, lastFrames[kind].bytes, lastFrames[kind].length);
    return;
  }
  struct answer *frame = &eventFrames[kind];
  stamp(frame->bytes + stampAt[kind], now_ns());
  /* Back to back, some at once: one write an event would cost more than what passes it on. */
  static char batch[sizeof stream->tail];
  size_t length = 0;
  do {
    memcpy(batch + length, frame->bytes, frame->length);
    length += frame->length;
    stream->eventsLeft--;
  } while (intervalNs == 0 && stream->eventsLeft > 0 && length < BACK_TO_BACK * frame->length);
  send_answer(stream, batch, length);
  stream->dueNs += intervalNs;
  if (!stream->isWaiting) enqueue(stream);
}

static void serve_due(void) {
  for (int served = 0; served < 64 && firstDue; served++) {
    struct stream *stream = firstDue;
    if (!stream->isClosed && stream->dueNs > now_ns() && !finishing) return;
    firstDue = stream->next;
    if (!firstDue) lastDue = NULL;
    stream->isQueued = false;
    if (stream->isClosed) free(stream);
    else send_event(stream);
  }
}

static long find_number(const char *text, const char *name, long otherwise) {
  const char *at = strstr(text, name);
  return at ? atol(at + strlen(name)) : otherwise;
}

/* GET /set?answer=BYTES&events=N&interval=US, GET /finish, and GET /seen, which also ends what /finish began. */
static void answer_control(struct stream *stream, const char *head) {
  static struct answer told;
  size_t length;
  if (!strncmp(head, "GET /v1/models", 14) || !strncmp(head, "GET /models", 11)) {
    send_answer(stream, modelsAnswer.bytes, modelsAnswer.length);
    return;
  }
  if (!strncmp(head, "GET /set?", 9)) {
    eventCount = find_number(head, "events=", 200);
    intervalNs = (u64)find_number(head, "interval=", 0) * 1000ull;
    make_chat_answer((size_t)find_number(head, "answer=", 30));
  }
  finishing = !strncmp(head, "GET /finish", 11);
  char *body = format(&length, "{\"requests\":%llu,\"open\":%llu}", (unsigned long long)seenRequests, (unsigned long long)openStreams);
  free(told.bytes);
  told = to_answer(body, length);
  free(body);
  send_answer(stream, told.bytes, told.length);
}

static void answer_request(struct stream *stream, const char *head, const char *body, size_t bodyLength) {
  if (!strncmp(head, "GET ", 4)) {
    answer_control(stream, head);
    return;
  }
  seenRequests++;
  const char *path = memchr(head, ' ', 16);
  const char *end = path ? strchr(path + 1, ' ') : NULL;
  size_t pathLength = end ? (size_t)(end - path) : 0;
  stream->isMessages = path && memmem(path, pathLength, "/messages", 9) != NULL;
  bool streams = memmem(body, bodyLength, "\"stream\":true", 13) || memmem(body, bodyLength, "\"stream\": true", 14);
  if (streams) {
    stream->isOpen = true;
    openStreams++;
    stream->eventsLeft = eventCount;
    stream->dueNs = now_ns();
    send_answer(stream, STREAM_HEAD, sizeof STREAM_HEAD - 1);
    enqueue(stream);
  } else if (path && memmem(path, pathLength, "/embeddings", 11)) {
    send_answer(stream, embeddingsAnswer.bytes, embeddingsAnswer.length);
  } else {
    send_answer(stream, chatAnswer.bytes, chatAnswer.length);
  }
}

static void keep(struct stream *stream, const char *bytes, size_t length) {
  stream->kept = realloc(stream->kept, stream->keptLength + length + 1);
  memcpy(stream->kept + stream->keptLength, bytes, length);
  stream->keptLength += length;
  stream->kept[stream->keptLength] = 0;
}

static void read_request(struct stream *stream) {
  ssize_t got = recv(stream->fd, scratch, READ_BYTES - 1, 0);
  if (got <= 0) {
    if (got < 0 && errno == EAGAIN) return;
    close_stream(stream);
    return;
  }
  char *text = scratch;
  size_t length = (size_t)got;
  scratch[length] = 0;
  bool wasSkipping = stream->skips > 0;
  if (wasSkipping) {
    stream->skips -= length < stream->skips ? length : stream->skips;
    if (stream->skips > 0) return;
  } else if (stream->keptLength > 0) {
    keep(stream, scratch, length);
  }
  if (stream->keptLength > 0) {
    text = stream->kept;
    length = stream->keptLength;
  }
  char *end = strstr(text, "\r\n\r\n");
  if (end == NULL) {
    if (text == scratch) keep(stream, scratch, length);
    return;
  }
  char *body = end + 4;
  *end = 0;
  char *framing = strcasestr(text, "\r\ncontent-length:");
  bool isChunked = strcasestr(text, "\r\ntransfer-encoding: chunked") != NULL;
  *end = '\r';
  size_t have = length - (size_t)(body - text);
  size_t wanted = framing ? (size_t)atol(framing + 17) : 0;
  bool isWhole = isChunked ? have >= 5 && !memcmp(text + length - 5, "0\r\n\r\n", 5) : have >= wanted || wasSkipping;
  if (!isWhole) {
    if (text == scratch) keep(stream, scratch, length);
    if (!isChunked && wanted > KEPT_BYTES) stream->skips = wanted - have;
    return;
  }
  stream->keptLength = 0;
  answer_request(stream, text, body, have);
}

static _Noreturn void run_upstream(int port) {
  int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0) fail("bind");
  if (listen(listener, 16384) < 0) fail("listen");
  set_up_socket(listener);
  watch(listener, NULL, false, true);
  make_frames();
  make_chat_answer(30);
  make_embeddings_answer();
  static const char models[] = "{\"object\":\"list\",\"data\":[{\"id\":\"bench\",\"object\":\"model\",\"created\":1700000000,\"owned_by\":\"bench\"}]}";
  modelsAnswer = to_answer(models, sizeof models - 1);
  struct epoll_event events[POLL_EVENTS];
  for (;;) {
    u64 due = firstDue ? (finishing ? 0 : firstDue->dueNs) : now_ns() + 1000000000ull;
    int count = wait_until(events, due);
    for (int index = 0; index < count; index++) {
      struct stream *stream = events[index].data.ptr;
      if (stream == NULL) {
        for (int fd; (fd = accept(listener, NULL, NULL)) >= 0;) {
          set_up_socket(fd);
          struct stream *opened = calloc(1, sizeof *opened);
          opened->fd = fd;
          watch(fd, opened, false, true);
        }
        continue;
      }
      if (events[index].events & EPOLLOUT) {
        send_answer(stream, stream->out, stream->outLength);
        if (!stream->isWaiting && stream->isOpen && !stream->isQueued) enqueue_first(stream);
      }
      if (events[index].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) read_request(stream);
    }
    serve_due();
  }
}

/* ---- load ---- */

struct client {
  int fd;
  const char *out;
  size_t outLength;
  bool isBusy, isWaiting, sawHead, isChunked, isEndless, sawEvent, isHangup;
  u64 dueNs;
  /* Of the body, or of the chunk that is being read. */
  size_t left;
  /* Where in a chunked body: 0 its size line, 1 its bytes, 2 the line end behind them, 3 the lines after the last one. */
  int part;
  char head[16384];
  size_t headLength;
  char line[32];
  size_t lineLength;
  char carry[32];
  size_t carryLength;
  struct client *nextIdle;
};

struct samples {
  uint32_t *values;
  size_t count, room;
};

static struct { const char *bytes; size_t length; } *requests;
static size_t requestCount, nextRequest;
static struct client *idle;
static struct samples latencies, delays;
static u64 warmUntilNs, completed, failures, hangups, eventsSeen, bytesSeen, streamsHeard, reconnects;
static char firstFailure[400];
static int port;
static double hangupShare;
static bool isStopping;

static void sample(struct samples *to, u64 ns) {
  if (to->count == to->room) {
    to->room = to->room ? to->room * 2 : 1 << 16;
    to->values = realloc(to->values, to->room * sizeof *to->values);
  }
  to->values[to->count++] = ns / 10 > UINT32_MAX ? UINT32_MAX : (uint32_t)(ns / 10);
}

static void note_failure(const char *text, size_t length) {
  failures++;
  if (firstFailure[0]) return;
  for (size_t at = 0; at < length && at < sizeof firstFailure - 1; at++)
    firstFailure[at] = text[at] < ' ' || text[at] == '"' || text[at] == '\\' || text[at] > '~' ? ' ' : text[at];
}

static void connect_client(struct client *client, bool isLasting) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  client->fd = socket(AF_INET, SOCK_STREAM, 0);
  if (client->fd < 0 || connect(client->fd, (struct sockaddr *)&address, sizeof address) < 0) fail("connect");
  set_up_socket(client->fd);
  watch(client->fd, client, false, true);
  client->isWaiting = false;
  if (!isLasting) reconnects++;
}

static void flush(struct client *client) {
  ssize_t sent = send(client->fd, client->out, client->outLength, MSG_NOSIGNAL);
  if (sent > 0) {
    client->out += sent;
    client->outLength -= (size_t)sent;
  }
  bool waits = client->outLength > 0;
  if (waits != client->isWaiting) watch(client->fd, client, waits, false);
  client->isWaiting = waits;
}

static void begin(struct client *client, u64 dueNs) {
  client->isBusy = true;
  client->sawHead = client->isChunked = client->isEndless = client->sawEvent = false;
  client->headLength = client->lineLength = client->carryLength = 0;
  client->dueNs = dueNs;
  client->isHangup = hangupShare > 0 && drand48() < hangupShare;
  client->out = requests[nextRequest].bytes;
  client->outLength = requests[nextRequest].length;
  nextRequest = (nextRequest + 1) % requestCount;
  flush(client);
}

static void settle(struct client *client) {
  client->isBusy = false;
  client->nextIdle = idle;
  idle = client;
}

static void complete(struct client *client) {
  u64 now = now_ns();
  completed++;
  if (client->dueNs >= warmUntilNs) sample(&latencies, now - client->dueNs);
  settle(client);
}

static void reconnect(struct client *client) {
  close(client->fd);
  if (!isStopping) connect_client(client, false);
  if (client->isBusy) settle(client);
}

static void read_stamp(struct client *client, const char *digits) {
  u64 sentNs = 0, now = now_ns();
  for (int at = 0; at < STAMP_DIGITS; at++) sentNs = sentNs * 10 + (u64)(digits[at] - '0');
  eventsSeen++;
  if (!client->sawEvent) streamsHeard++;
  client->sawEvent = true;
  if (sentNs >= warmUntilNs && sentNs <= now) sample(&delays, now - sentNs);
}

/* Finds the stamps, also where one is cut between two reads. */
static void read_payload(struct client *client, const char *bytes, size_t length) {
  const size_t whole = sizeof STAMP_MARK - 1 + STAMP_DIGITS;
  bytesSeen += length;
  if (client->carryLength > 0) {
    char joined[2 * sizeof client->carry];
    size_t added = length < sizeof client->carry ? length : sizeof client->carry;
    memcpy(joined, client->carry, client->carryLength);
    memcpy(joined + client->carryLength, bytes, added);
    size_t cut = client->carryLength;
    size_t joinedLength = cut + added;
    client->carryLength = 0;
    char *at = memmem(joined, joinedLength, STAMP_MARK, sizeof STAMP_MARK - 1);
    if (at && (size_t)(at - joined) < cut) {
      if ((size_t)(at - joined) + whole > joinedLength) {
        client->carryLength = joinedLength - (size_t)(at - joined);
        memmove(client->carry, at, client->carryLength);
        return;
      }
      read_stamp(client, at + sizeof STAMP_MARK - 1);
    }
  }
  const char *from = bytes, *until = bytes + length, *at;
  while ((at = memmem(from, (size_t)(until - from), STAMP_MARK, sizeof STAMP_MARK - 1)) && at + whole <= until) {
    read_stamp(client, at + sizeof STAMP_MARK - 1);
    from = at + whole;
  }
  size_t rest = at ? (size_t)(until - at) : (size_t)(until - from) < 2 ? (size_t)(until - from) : 2;
  memcpy(client->carry, until - rest, rest);
  client->carryLength = rest;
}

/* True at the end of the response. */
static bool read_chunks(struct client *client, const char *bytes, size_t length) {
  for (size_t at = 0; at < length;) {
    if (client->part == 1) {
      size_t taken = length - at < client->left ? length - at : client->left;
      read_payload(client, bytes + at, taken);
      at += taken;
      client->left -= taken;
      if (client->left == 0) client->part = 2;
      continue;
    }
    char byte = bytes[at++];
    if (byte != '\n') {
      if (byte != '\r' && client->lineLength < sizeof client->line - 1) client->line[client->lineLength++] = byte;
      continue;
    }
    client->line[client->lineLength] = 0;
    bool isEmpty = client->lineLength == 0;
    client->lineLength = 0;
    if (client->part == 3 && isEmpty) return true;
    if (client->part == 2) client->part = 0;
    else if (client->part == 0) {
      client->left = strtoul(client->line, NULL, 16);
      client->part = client->left > 0 ? 1 : 3;
    }
  }
  return false;
}

static void read_answer(struct client *client) {
  ssize_t got = recv(client->fd, scratch, READ_BYTES - 1, 0);
  if (got <= 0) {
    if (got < 0 && errno == EAGAIN) return;
    if (client->isBusy && client->isEndless) complete(client);
    else if (client->isBusy && !isStopping) note_failure("the connection closed before the end", 36);
    reconnect(client);
    return;
  }
  char *bytes = scratch;
  size_t length = (size_t)got;
  if (!client->isBusy) return;
  if (!client->sawHead) {
    size_t room = sizeof client->head - 1 - client->headLength;
    size_t added = length < room ? length : room;
    memcpy(client->head + client->headLength, bytes, added);
    size_t before = client->headLength;
    client->headLength += added;
    client->head[client->headLength] = 0;
    char *end = strstr(client->head, "\r\n\r\n");
    if (end == NULL) return;
    *end = 0;
    client->sawHead = true;
    char *framing = strcasestr(client->head, "\r\ncontent-length:");
    client->isChunked = strcasestr(client->head, "\r\ntransfer-encoding: chunked") != NULL;
    client->isEndless = !framing && !client->isChunked;
    client->left = framing ? strtoul(framing + 17, NULL, 10) : 0;
    client->part = 0;
    *end = '\r';
    size_t headBytes = (size_t)(end + 4 - client->head) - before;
    if (strncmp(client->head + 8, " 200", 4)) {
      note_failure(client->head, client->headLength);
      reconnect(client);
      return;
    }
    bytes += headBytes;
    length -= headBytes;
    if (client->isHangup && !client->isChunked) {
      hangups++;
      reconnect(client);
      return;
    }
  }
  if (client->isChunked) {
    bool isOver = read_chunks(client, bytes, length);
    if (isOver) complete(client);
    else if (client->isHangup && client->sawEvent) {
      hangups++;
      reconnect(client);
    }
    return;
  }
  read_payload(client, bytes, length);
  if (client->isEndless) return;
  client->left -= length < client->left ? length : client->left;
  if (client->left == 0) complete(client);
}

static int compare(const void *left, const void *right) {
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  return a < b ? -1 : a > b;
}

static void print_samples(const char *name, struct samples *of) {
  if (of->count == 0) {
    printf(",\"%s\":null", name);
    return;
  }
  qsort(of->values, of->count, sizeof *of->values, compare);
  const double shares[] = {0.5, 0.9, 0.99, 0.999};
  const char *names[] = {"p50", "p90", "p99", "p999"};
  printf(",\"%s\":{\"n\":%zu", name, of->count);
  for (int at = 0; at < 4; at++) printf(",\"%s\":%.1f", names[at], of->values[(size_t)((double)of->count * shares[at])] / 100.0);
  printf(",\"max\":%.1f}", of->values[of->count - 1] / 100.0);
}

static double option(int count, char **words, const char *name, double otherwise) {
  size_t length = strlen(name);
  for (int at = 0; at < count; at++)
    if (!strncmp(words[at], name, length) && words[at][length] == '=') return atof(words[at] + length + 1);
  return otherwise;
}

static void read_requests(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) fail(path);
  for (uint32_t length; fread(&length, 4, 1, file) == 1;) {
    char *bytes = malloc(length);
    if (fread(bytes, 1, length, file) != length) fail(path);
    requests = realloc(requests, (requestCount + 1) * sizeof *requests);
    requests[requestCount].bytes = bytes;
    requests[requestCount++].length = length;
  }
  fclose(file);
  if (requestCount == 0) fail("no requests");
}

/*
 * connections=N seconds=S [warm=S] and one of: nothing more, each connection asks again when it has its answer; rate=N, so many
 * a second are due on the clock, and a delay counts from then; hold=1, each asks once (ramp=N a second) and keeps its stream:
 * when all have heard an event it prints a line, measures for S seconds, prints another, and reads on until all have ended.
 * hangup=SHARE of the requests are given up after the first event, or after the head. [first=N]: which request comes first.
 */
static int run_load(const char *path, int count, char **words) {
  read_requests(path);
  port = (int)option(count, words, "port", 0);
  size_t connections = (size_t)option(count, words, "connections", 64);
  double seconds = option(count, words, "seconds", 5), warm = option(count, words, "warm", 0);
  double rate = option(count, words, "rate", 0), ramp = option(count, words, "ramp", 2000);
  bool holds = option(count, words, "hold", 0) > 0;
  hangupShare = option(count, words, "hangup", 0);
  nextRequest = (size_t)option(count, words, "first", 0) % requestCount;
  struct client *clients = calloc(connections, sizeof *clients);
  u64 startNs = now_ns();
  for (size_t index = 0; index < (holds ? 0 : connections); index++) {
    connect_client(&clients[index], true);
    settle(&clients[index]);
  }
  startNs = now_ns();
  u64 untilNs = startNs + (u64)(seconds * 1e9);
  u64 giveUpNs = untilNs + (u64)5e9;
  warmUntilNs = holds ? UINT64_MAX : startNs + (u64)(warm * 1e9);
  u64 sent = 0, planned = (u64)(rate * seconds), unsent = 0, endedNs = 0;
  size_t opened = 0;
  bool isMeasuring = !holds, wasTold = false;
  struct epoll_event events[POLL_EVENTS];
  if (holds) giveUpNs = startNs + (u64)((double)connections / ramp * 1e9) + (u64)20e9;
  for (;;) {
    u64 now = now_ns(), dueNs = now + 100000000ull;
    if (holds) {
      while (opened < connections && startNs + (u64)((double)opened / ramp * 1e9) <= now) {
        connect_client(&clients[opened], true);
        begin(&clients[opened++], now);
      }
      if (opened < connections) dueNs = startNs + (u64)((double)opened / ramp * 1e9);
      if (!isMeasuring && (streamsHeard + failures >= connections || now > giveUpNs)) {
        isMeasuring = true;
        printf("{\"open\":%llu}\n", (unsigned long long)streamsHeard);
        fflush(stdout);
        warmUntilNs = now;
        untilNs = now + (u64)(seconds * 1e9);
        giveUpNs = untilNs + (u64)20e9;
      }
      if (isMeasuring && !wasTold && now >= untilNs) {
        wasTold = true;
        endedNs = now;
        warmUntilNs = UINT64_MAX;
        printf("{\"measured\":%zu}\n", delays.count);
        fflush(stdout);
      }
      if (isMeasuring && (completed + failures >= connections || now > giveUpNs)) break;
    } else if (rate > 0) {
      while (sent < planned && startNs + (u64)((double)sent / rate * 1e9) <= now && idle) {
        struct client *client = idle;
        idle = client->nextIdle;
        begin(client, startNs + (u64)((double)sent++ / rate * 1e9));
      }
      if (sent < planned && idle) dueNs = startNs + (u64)((double)sent / rate * 1e9);
      if (sent >= planned && completed + failures + hangups >= sent) break;
      if (now > untilNs) unsent = planned - sent;
      if (now > giveUpNs) break;
    } else {
      while (idle && now < untilNs) {
        struct client *client = idle;
        idle = client->nextIdle;
        begin(client, now_ns());
      }
      if (now >= untilNs && !endedNs) endedNs = now;
      bool isAnyBusy = false;
      if (now >= untilNs) for (size_t at = 0; at < connections; at++) isAnyBusy |= clients[at].isBusy;
      if (now >= untilNs && (!isAnyBusy || now > giveUpNs)) break;
    }
    if (failures > 1000) break;
    int ready = wait_until(events, dueNs);
    for (int index = 0; index < ready; index++) {
      struct client *client = events[index].data.ptr;
      if (events[index].events & EPOLLOUT) flush(client);
      if (events[index].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) read_answer(client);
    }
  }
  isStopping = true;
  double took = (double)(now_ns() - startNs) / 1e9;
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  double cpuMs = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3;
  printf("{\"requests\":%llu,\"failures\":%llu,\"firstFailure\":\"%s\",\"hangups\":%llu,\"unsent\":%llu,\"reconnects\":%llu,\"events\":%llu,"
         "\"bytes\":%llu,\"seconds\":%.3f,\"cpuMs\":%.1f",
      (unsigned long long)completed, (unsigned long long)failures, firstFailure, (unsigned long long)hangups, (unsigned long long)unsent,
      (unsigned long long)reconnects, (unsigned long long)eventsSeen, (unsigned long long)bytesSeen, took, cpuMs);
  print_samples("latencyUs", &latencies);
  print_samples("delayUs", &delays);
  printf("}\n");
  return 0;
}

int main(int count, char **words) {
  prepare();
  if (count == 3 && !strcmp(words[1], "upstream")) run_upstream(atoi(words[2]));
  if (count >= 3 && !strcmp(words[1], "load")) return run_load(words[2], count - 3, words + 3);
  fprintf(stderr, "wire upstream PORT | wire load FILE name=value...\n");
  return 2;
}
