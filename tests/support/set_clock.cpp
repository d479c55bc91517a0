// Preloaded (LD_PRELOAD) into a program, gives it a time of day that is as many seconds ahead of the machine's as the
// file says that AXION_TEST_CLOCK names: eight bytes, which a test writes while the program runs. What the program
// waits for by the time of day it waits for by this one. Clocks that nobody sets are left alone.
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

// As the kernel takes it: the C library's function of that name is this file's.
long call_kernel(long number, const long (&a)[6]) {
  register long r10 __asm__("r10") = a[3];
  register long r8 __asm__("r8") = a[4];
  register long r9 __asm__("r9") = a[5];
  long result = number;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  if (result >= 0 || result < -4095) return result;
  errno = static_cast<int>(-result);
  return -1;
}

std::int64_t ahead() {
  static const volatile std::int64_t* const seconds = [] {
    const char* path = std::getenv("AXION_TEST_CLOCK");
    const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    void* page = file < 0 ? MAP_FAILED : mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    return page == MAP_FAILED ? nullptr : static_cast<const volatile std::int64_t*>(page);
  }();
  return seconds == nullptr ? 0 : *seconds;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const long result = call_kernel(SYS_clock_gettime, {clock, reinterpret_cast<long>(time), 0, 0, 0, 0});
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += ahead();
  return static_cast<int>(result);
}

int gettimeofday(timeval* time, void*) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

std::time_t time(std::time_t* out) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}

long syscall(long number, ...) noexcept {
  long arguments[6];
  std::va_list list;
  va_start(list, number);
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  timespec until{};
  if (number == SYS_futex && (arguments[1] & FUTEX_CLOCK_REALTIME) != 0 && arguments[3] != 0) {
    until = *reinterpret_cast<const timespec*>(arguments[3]);
    until.tv_sec -= ahead();
    if (until.tv_sec < 0) until = {};
    arguments[3] = reinterpret_cast<long>(&until);
  }
  return call_kernel(number, arguments);
}

}  // extern "C"
