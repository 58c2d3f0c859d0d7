/* What the two ends of the benchmark have in common: one clock, one poller, stamps. */
#pragma once
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
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
enum { POLL_EVENTS = 512, STAMP_DIGITS = 18, READ_BYTES = 1 << 18 };
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
