/*
 * The upstream of the benchmarks, in C so that it costs less than what stands before it: `upstream PORT`. It answers from
 * memory, with JSON or with streams of stamped events; what it answers is set by GET /set (see answer_control).
 */
#include "wire.h"
#include <stdarg.h>

enum { BACK_TO_BACK = 16, KEPT_BYTES = 1 << 20, EVENT_BYTES = 3072 };

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
  bool isOpen, isWaiting, isQueued, isClosed;
  const char *out;
  size_t outLength;
  char tail[4096];
  long eventsLeft;
  u64 dueNs;
  struct stream *next;
};

static const char EVENT[] =
    "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"bench-upstream\","
    "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"@t=%018llu %s\"},\"finish_reason\":null}]}\n\n";
static const char LAST[] =
    "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"bench-upstream\","
    "\"choices\":[],\"usage\":{\"prompt_tokens\":21,\"completion_tokens\":8,\"total_tokens\":29}}\n\ndata: [DONE]\n\n";
static const char STREAM_HEAD[] =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";

static struct answer chatAnswer, eventFrame, lastFrame;
static size_t stampAt;
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

static struct answer to_frame(const char *text, size_t length, bool isLast) {
  struct answer made;
  made.bytes = format(&made.length, "%zx\r\n%.*s\r\n%s", length, (int)length, text, isLast ? "0\r\n\r\n" : "");
  return made;
}

/* Events of so many bytes, or as short as they are. */
static void make_frames(int size) {
  char text[EVENT_BYTES], filler[EVENT_BYTES];
  memset(filler, 'x', sizeof filler);
  int shortest = snprintf(text, sizeof text, EVENT, 0ull, "");
  filler[size > shortest && size < EVENT_BYTES ? size - shortest : 0] = 0;
  int length = snprintf(text, sizeof text, EVENT, 0ull, filler);
  free(eventFrame.bytes);
  eventFrame = to_frame(text, (size_t)length, false);
  stampAt = (size_t)(strstr(eventFrame.bytes, STAMP_MARK) - eventFrame.bytes) + strlen(STAMP_MARK);
  free(lastFrame.bytes);
  lastFrame = to_frame(LAST, strlen(LAST), true);
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
  if (stream->eventsLeft <= 0 || finishing) {
    stream->isOpen = false;
    openStreams--;
    send_answer(stream, lastFrame.bytes, lastFrame.length);
    return;
  }
  struct answer *frame = &eventFrame;
  stamp(frame->bytes + stampAt, now_ns());
  /* Back to back, some at once: one write an event would cost more than what passes it on. */
  static char batch[sizeof stream->tail];
  size_t length = 0;
  do {
    memcpy(batch + length, frame->bytes, frame->length);
    length += frame->length;
    stream->eventsLeft--;
  } while (intervalNs == 0 && stream->eventsLeft > 0 && length < BACK_TO_BACK * frame->length &&
           length + frame->length <= sizeof batch);
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

/* GET /set?answer=BYTES&events=N&size=BYTES&interval=US, GET /finish, and GET /seen, which also ends what /finish began. */
static void answer_control(struct stream *stream, const char *head) {
  static struct answer told;
  size_t length;
  if (!strncmp(head, "GET /set?", 9)) {
    eventCount = find_number(head, "events=", 200);
    intervalNs = (u64)find_number(head, "interval=", 0) * 1000ull;
    make_chat_answer((size_t)find_number(head, "answer=", 30));
    make_frames((int)find_number(head, "size=", 0));
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
  bool streams = memmem(body, bodyLength, "\"stream\":true", 13) || memmem(body, bodyLength, "\"stream\": true", 14);
  if (streams) {
    stream->isOpen = true;
    openStreams++;
    stream->eventsLeft = eventCount;
    stream->dueNs = now_ns();
    send_answer(stream, STREAM_HEAD, sizeof STREAM_HEAD - 1);
    /* At once: behind those that wait for their next event it would be sent with them, and all would become one burst. */
    send_event(stream);
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
  make_frames(0);
  make_chat_answer(30);
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

int main(int count, char **words) {
  if (count != 2) return 2;
  prepare();
  run_upstream(atoi(words[1]));
}
