// The file of tokens: what can be parsed finds its tenants, and a refusal names the line.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/string_view.h"

#include "server/access/token_table.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using axion::server::access::TokenTable;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto table = TokenTable::parse(text);
  if (!table.ok()) {
    if (table.status().message().empty()) std::abort();
    return 0;
  }
  table->find(axion::server::access::digest_of(text));
  const auto again = TokenTable::parse(text, &*table);
  if (!again.ok() || again->size() != table->size()) std::abort();
  return 0;
}
