// The database of --state_dir with any bytes in it. An input is | kind, 1 | rest |: the rest is the file (kind even),
// or edits of a sound one (odd). It is refused in words, or its items are read, whole or refused, and it is written to.
#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "server/store/store.hpp"

#include "tests/fuzz/edits.hpp"

namespace {

namespace store = axion::server::store;

void check(const absl::Status& status) {
  if (!status.ok() && status.message().empty()) std::abort();  // a refusal has words
}

store::Item item(store::Kind kind, const std::string& name) {
  store::Item made;
  made.kind = kind;
  made.name = name;
  made.tenant = "t";
  made.create_time = absl::FromUnixSeconds(1);
  made.summary = "what it is";
  made.parts = {std::string(3000, 'a'), std::string(9000, 'b')};  // on pages of their own
  return made;
}

class Target {
 public:
  Target() {
    std::string name = "/tmp/axion_store_XXXXXX";
    if (access("/dev/shm", W_OK) == 0) name = "/dev/shm/axion_store_XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    directory_ = name;
    {
      auto opened = store::Store::open(directory_);
      if (!opened.ok()) std::abort();
      for (const store::Kind kind : {store::Kind::kModel, store::Kind::kBatch, store::Kind::kSnapshot}) {
        if (!(*opened)->put(item(kind, "n")).ok()) std::abort();
      }
    }
    std::ifstream file(directory_ + "/axion.db", std::ios::binary);
    good_.assign(std::istreambuf_iterator<char>(file), {});
  }

  void open(std::string_view input) {
    if (input.empty()) return;
    const std::string_view rest = input.substr(1);
    for (const char* other : {"-wal", "-shm", "-journal"}) unlink((directory_ + "/axion.db" + other).c_str());
    {
      std::ofstream file(directory_ + "/axion.db", std::ios::binary | std::ios::trunc);
      file << ((input[0] & 1) != 0 ? axion::fuzz::edited(good_, rest) : std::string(rest));
    }
    auto opened = store::Store::open(directory_);
    if (!opened.ok()) return check(opened.status());
    store::Store& there = **opened;
    for (const store::Kind kind : {store::Kind::kModel, store::Kind::kBatch, store::Kind::kSnapshot}) {
      const auto listed = there.list(kind, nullptr, 0, 100);
      check(listed.status());
      if (!listed.ok()) continue;
      for (const store::Item& one : *listed) {
        check(there.get(kind, one.tenant, one.name).status());
        check(there.size_of(kind, one.tenant, one.name).status());
        check(there.remove(kind, one.tenant, one.name));
      }
    }
    check(there.put(item(store::Kind::kSnapshot, "another"), 1 << 20));
    check(there.end_well());
  }

 private:
  std::string directory_, good_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static auto* const target = new Target;
  target->open({reinterpret_cast<const char*>(data), size});
  return 0;
}
