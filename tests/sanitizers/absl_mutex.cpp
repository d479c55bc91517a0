// Tells the thread sanitizer of absl::Mutex, CondVar and Notification, in programs that are linked with it.
//
// Debian's Abseil is not instrumented, and its locks are futexes that the sanitizer cannot see: without this every
// field behind an absl::Mutex is a race. The functions here take the place of the library's, for gRPC's calls too: they
// call the library's own and say what these do. Between __tsan_mutex_pre_ and __tsan_mutex_post_ the sanitizer looks
// away, so that conditions, which a thread evaluates for those that wait, are not taken for accesses without the lock.
#include <absl/base/config.h>
#include <absl/synchronization/mutex.h>
#include <absl/synchronization/notification.h>
#include <absl/time/time.h>
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#define AXION_TEXT_OF(x) #x
#define AXION_TEXT(x) AXION_TEXT_OF(x)

namespace {

// The library's function of a mangled name without its namespaces.
template <typename Function>
Function* library(const char* name, const char* qualifiers = "") {
  const std::string space = AXION_TEXT(ABSL_OPTION_INLINE_NAMESPACE_NAME);
  const std::string mangled = std::string("_ZN") + qualifiers + "4absl" + std::to_string(space.size()) + space + name;
  void* found = dlsym(RTLD_NEXT, mangled.c_str());
  if (found == nullptr) {
    std::fprintf(stderr, "Abseil has no %s\n", mangled.c_str());
    std::abort();
  }
  return reinterpret_cast<Function*>(found);
}

// Whether the library's own function runs, which may call others of these: the outermost alone is told of.
thread_local bool is_inside = false;

template <typename Call>
auto inside(Call&& call) {
  is_inside = true;
  struct Inside {
    ~Inside() { is_inside = false; }
  } const inside;
  return call();
}

template <typename Call>
void lock(absl::Mutex* mutex, unsigned flags, Call&& call) {
  if (is_inside) return call();
  __tsan_mutex_pre_lock(mutex, flags);
  inside(call);
  __tsan_mutex_post_lock(mutex, flags, 0);
}

template <typename Call>
void unlock(absl::Mutex* mutex, unsigned flags, Call&& call) {
  if (is_inside) return call();
  __tsan_mutex_pre_unlock(mutex, flags);
  inside(call);
  __tsan_mutex_post_unlock(mutex, flags);
}

template <typename Call>
bool try_lock(absl::Mutex* mutex, unsigned flags, Call&& call) {
  if (is_inside) return call();
  flags |= __tsan_mutex_try_lock;
  __tsan_mutex_pre_lock(mutex, flags);
  const bool is_locked = inside(call);
  __tsan_mutex_post_lock(mutex, is_locked ? flags : flags | __tsan_mutex_try_lock_failed, 0);
  return is_locked;
}

// A call that lets a lock go and returns with it.
template <typename Call>
auto wait(absl::Mutex* mutex, Call&& call) {
  struct Locked {
    absl::Mutex* mutex;
    ~Locked() {
      if (mutex != nullptr) __tsan_mutex_post_lock(mutex, 0, 0);
    }
  } const locked{is_inside ? nullptr : mutex};
  if (is_inside) return call();
  __tsan_mutex_pre_unlock(mutex, 0);
  __tsan_mutex_post_unlock(mutex, 0);
  __tsan_mutex_pre_lock(mutex, 0);
  return inside(call);
}

}  // namespace

namespace absl {
ABSL_NAMESPACE_BEGIN

Mutex::~Mutex() {
  static auto* const call = library<void(Mutex*)>("5MutexD1Ev");
  __tsan_mutex_destroy(this, __tsan_mutex_linker_init);
  call(this);
}

void Mutex::Lock() {
  static auto* const call = library<void(Mutex*)>("5Mutex4LockEv");
  lock(this, 0, [&] { call(this); });
}

void Mutex::Unlock() {
  static auto* const call = library<void(Mutex*)>("5Mutex6UnlockEv");
  unlock(this, 0, [&] { call(this); });
}

bool Mutex::TryLock() {
  static auto* const call = library<bool(Mutex*)>("5Mutex7TryLockEv");
  return try_lock(this, 0, [&] { return call(this); });
}

void Mutex::ReaderLock() {
  static auto* const call = library<void(Mutex*)>("5Mutex10ReaderLockEv");
  lock(this, __tsan_mutex_read_lock, [&] { call(this); });
}

void Mutex::ReaderUnlock() {
  static auto* const call = library<void(Mutex*)>("5Mutex12ReaderUnlockEv");
  unlock(this, __tsan_mutex_read_lock, [&] { call(this); });
}

void Mutex::LockWhen(const Condition& condition) {
  static auto* const call = library<void(Mutex*, const Condition&)>("5Mutex8LockWhenERKNS0_9ConditionE");
  lock(this, 0, [&] { call(this, condition); });
}

bool Mutex::LockWhenWithTimeout(const Condition& condition, Duration timeout) {
  static auto* const call =
      library<bool(Mutex*, const Condition&, Duration)>("5Mutex19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE");
  bool holds = false;
  lock(this, 0, [&] { holds = call(this, condition, timeout); });
  return holds;
}

bool Mutex::LockWhenWithDeadline(const Condition& condition, Time deadline) {
  static auto* const call =
      library<bool(Mutex*, const Condition&, Time)>("5Mutex20LockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE");
  bool holds = false;
  lock(this, 0, [&] { holds = call(this, condition, deadline); });
  return holds;
}

void Mutex::Await(const Condition& condition) {
  static auto* const call = library<void(Mutex*, const Condition&)>("5Mutex5AwaitERKNS0_9ConditionE");
  wait(this, [&] { call(this, condition); });
}

bool Mutex::AwaitWithTimeout(const Condition& condition, Duration timeout) {
  static auto* const call =
      library<bool(Mutex*, const Condition&, Duration)>("5Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE");
  return wait(this, [&] { return call(this, condition, timeout); });
}

bool Mutex::AwaitWithDeadline(const Condition& condition, Time deadline) {
  static auto* const call =
      library<bool(Mutex*, const Condition&, Time)>("5Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE");
  return wait(this, [&] { return call(this, condition, deadline); });
}

void CondVar::Wait(Mutex* mutex) {
  static auto* const call = library<void(CondVar*, Mutex*)>("7CondVar4WaitEPNS0_5MutexE");
  wait(mutex, [&] { call(this, mutex); });
}

bool CondVar::WaitWithTimeout(Mutex* mutex, Duration timeout) {
  static auto* const call =
      library<bool(CondVar*, Mutex*, Duration)>("7CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE");
  return wait(mutex, [&] { return call(this, mutex, timeout); });
}

bool CondVar::WaitWithDeadline(Mutex* mutex, Time deadline) {
  static auto* const call = library<bool(CondVar*, Mutex*, Time)>("7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE");
  return wait(mutex, [&] { return call(this, mutex, deadline); });
}

void Notification::Notify() {
  static auto* const call = library<void(Notification*)>("12Notification6NotifyEv");
  __tsan_release(this);
  call(this);
}

void Notification::WaitForNotification() const {
  static auto* const call = library<void(const Notification*)>("12Notification19WaitForNotificationEv", "K");
  call(this);
  __tsan_acquire(const_cast<Notification*>(this));
}

bool Notification::WaitForNotificationWithTimeout(Duration timeout) const {
  static auto* const call = library<bool(const Notification*, Duration)>(
      "12Notification30WaitForNotificationWithTimeoutENS0_8DurationE", "K");
  const bool is_notified = call(this, timeout);
  __tsan_acquire(const_cast<Notification*>(this));
  return is_notified;
}

ABSL_NAMESPACE_END
}  // namespace absl
