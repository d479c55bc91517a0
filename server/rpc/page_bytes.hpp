// Pages of lists by bytes: as many items as an answer comfortably holds, and at least one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/repeated_ptr_field.h"

#include "server/rpc/request_conversion.hpp"
#include "server/schedule/limits.hpp"
#include "server/schedule/registry.hpp"

namespace axion::server::rpc {

// What an item costs in a page besides its own bytes: tag and length, and the token of the next page.
inline constexpr std::size_t kPageBytes = 64;
// Well within the 4 MiB that a client of gRPC takes unless it is told otherwise.
inline constexpr std::size_t kComfortableBytes = 2 << 20;

// RESOURCE_EXHAUSTED if an item of this size cannot be sent even alone on its page.
inline absl::Status check_page(std::size_t item_bytes, const schedule::Limits& limits) {
  return check_answer_bytes(static_cast<double>(item_bytes + kPageBytes), limits);
}

// Moves items of the page into `messages` up to that many bytes, and sets the token that continues after them. `fill`
// fills a message and returns the item's name, which is the token that continues after it.
template <typename Item, typename Message, typename Fill>
void fill_page(const schedule::Page<Item>& page, const schedule::Limits& limits,
               google::protobuf::RepeatedPtrField<Message>& messages, std::string& next_token, const Fill& fill) {
  const std::size_t budget = std::min(kComfortableBytes, static_cast<std::size_t>(limits.max_message_bytes));
  std::size_t bytes = kPageBytes;
  std::string last;
  for (const auto& item : page.items) {
    const absl::string_view name = fill(*item, *messages.Add());
    bytes += messages.rbegin()->ByteSizeLong() + kPageBytes;
    if (bytes > budget && messages.size() > 1) {
      messages.RemoveLast();
      next_token = last;
      return;
    }
    last = std::string(name);
  }
  next_token = page.next_token;
}

}  // namespace axion::server::rpc
