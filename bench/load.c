/*
 * The load of the benchmarks, in C so that it costs less than what it measures: `load FILE name=value...`, a closed loop or a
 * fixed rate on 127.0.0.1; prints one line of JSON. FILE holds requests as they go over the wire, each behind its length in
 * four bytes (little endian), sent in turns. bench/wire.ts compiles and runs it.
 */
#include "wire.h"

struct client {
  int fd;
  const char *out;
  size_t outLength;
  bool isBusy, isWaiting, sawHead, isChunked, sawEvent;
  u64 dueNs;
  /* Bytes left of the body, or of the chunk that is being read. */
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
static struct samples latencies, delays, openings;
static u64 warmUntilNs, completed, failures, eventsSeen, streamsHeard;
static char firstFailure[400];
static int port;
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

static void connect_client(struct client *client) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  client->fd = socket(AF_INET, SOCK_STREAM, 0);
  if (client->fd < 0 || connect(client->fd, (struct sockaddr *)&address, sizeof address) < 0) fail("connect");
  set_up_socket(client->fd);
  watch(client->fd, client, false, true);
  client->isWaiting = false;
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
  client->sawHead = client->isChunked = client->sawEvent = false;
  client->headLength = client->lineLength = client->carryLength = 0;
  client->dueNs = dueNs;
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
  if (!isStopping) connect_client(client);
  if (client->isBusy) settle(client);
}

static void read_stamp(struct client *client, const char *digits) {
  u64 sentNs = 0, now = now_ns();
  for (int at = 0; at < STAMP_DIGITS; at++) sentNs = sentNs * 10 + (u64)(digits[at] - '0');
  eventsSeen++;
  if (!client->sawEvent) {
    streamsHeard++;
    sample(&openings, now - client->dueNs);
  }
  client->sawEvent = true;
  if (sentNs >= warmUntilNs && sentNs <= now) sample(&delays, now - sentNs);
}

/* Finds the stamps, also where one is cut between two reads. */
static void read_payload(struct client *client, const char *bytes, size_t length) {
  const size_t whole = sizeof STAMP_MARK - 1 + STAMP_DIGITS;
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
    if (client->isBusy && !isStopping) note_failure("the connection closed before the end", 36);
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
  }
  if (client->isChunked) {
    if (read_chunks(client, bytes, length)) complete(client);
    return;
  }
  read_payload(client, bytes, length);
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
 * a second are due on the clock, and a delay counts from then; hold=1, each asks once (ramp=N a second, on the clock) and keeps
 * its stream: when all have heard an event it prints a line, measures for S seconds, prints another, and reads on until all have
 * ended. What opening takes, until the first event, is told apart from the delay of the events that are measured.
 */
static int run_load(const char *path, int count, char **words) {
  read_requests(path);
  port = (int)option(count, words, "port", 0);
  size_t connections = (size_t)option(count, words, "connections", 64);
  double seconds = option(count, words, "seconds", 5), warm = option(count, words, "warm", 0);
  double rate = option(count, words, "rate", 0), ramp = option(count, words, "ramp", 2000);
  bool holds = option(count, words, "hold", 0) > 0;
  struct client *clients = calloc(connections, sizeof *clients);
  u64 startNs = now_ns();
  for (size_t index = 0; index < (holds ? 0 : connections); index++) {
    connect_client(&clients[index]);
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
        connect_client(&clients[opened]);
        begin(&clients[opened], startNs + (u64)((double)opened / ramp * 1e9));
        opened++;
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
      if (sent >= planned && completed + failures >= sent) break;
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
  printf("{\"requests\":%llu,\"failures\":%llu,\"firstFailure\":\"%s\",\"unsent\":%llu,\"events\":%llu,\"seconds\":%.3f",
      (unsigned long long)completed, (unsigned long long)failures, firstFailure, (unsigned long long)unsent,
      (unsigned long long)eventsSeen, took);
  print_samples("latencyUs", &latencies);
  print_samples("openUs", &openings);
  print_samples("delayUs", &delays);
  printf("}\n");
  return 0;
}

int main(int count, char **words) {
  if (count < 2) return 2;
  prepare();
  return run_load(words[1], count - 2, words + 2);
}
