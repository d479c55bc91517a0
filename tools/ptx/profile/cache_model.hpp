// CacheModel: how many sectors would pass a first cache of so many bytes, the least recently used line going first.
//
// Lines of four sectors, of far and of local memory, as of NVIDIA's first caches: what is stored to far memory goes
// through, what is stored to local memory when its line goes. Nothing else of a cache is in it: no sets, no other
// blocks.
#pragma once

#include <list>
#include <unordered_map>
#include <unordered_set>

#include "tools/ptx/profile/traffic.hpp"

namespace axion::ptx {

class CacheModel {
 public:
  explicit CacheModel(U64 bytes) : lines_(bytes / 128) {}

  // Returns how many sectors of this access passed.
  U64 add(const Traffic& t) {
    const U64 before = passed_;
    if (t.place == Place::kShared) return 0;
    const bool local = t.place == Place::kLocal;
    for (U32 k = 0; k < t.units; ++k) {
      const U64 key = t.sectors[k] * 2 + (local ? 1 : 0), bit = U64(1) << (t.sectors[k] % 4);
      touched_.insert(key);
      Line& line = find(t.sectors[k] / 4 * 2 + (local ? 1 : 0));
      if (t.writes && local) {
        line.dirty |= bit;
      } else if (t.writes || (line.valid & bit) == 0) {
        ++passed_;
      }
      line.valid |= bit;
    }
    return passed_ - before;
  }

  void clear() { passed_ = 0, touched_.clear(); }
  U64 bytes() const { return lines_ * 128; }
  U64 passed() const { return passed_; }           // sectors
  U64 touched() const { return touched_.size(); }  // different ones

 private:
  struct Line {
    U64 tag, valid, dirty;
  };

  Line& find(U64 tag) {
    const auto found = places_.find(tag);
    if (found != places_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      return order_.front();
    }
    order_.push_front({tag, 0, 0});
    places_[tag] = order_.begin();
    if (order_.size() > lines_) {
      for (U64 d = order_.back().dirty; d != 0; d &= d - 1) ++passed_;
      places_.erase(order_.back().tag);
      order_.pop_back();
      if (order_.empty()) order_.push_front({tag, 0, 0}), places_[tag] = order_.begin();
    }
    return order_.front();
  }

  std::size_t lines_;
  U64 passed_ = 0;
  std::list<Line> order_;  // the most recently used first
  std::unordered_map<U64, std::list<Line>::iterator> places_;
  std::unordered_set<U64> touched_;
};

}  // namespace axion::ptx
