// What waits for several callers, taken by turns: of tenants first, then of a tenant's clients, then in order.
#pragma once

#include <algorithm>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/schedule/call.hpp"

namespace axion::server::schedule {

template <typename T>
class TurnQueue {
 public:
  void push(const Call& call, T item) {
    Tenant& tenant = of_name(tenants_, call.tenant);
    of_name(tenant.parts, call.client).parts.push_back(std::move(item));
  }

  // The next one for which may_take(item) holds, of each client its first alone. Whose it was waits for all others
  // then.
  template <typename MayTake>
  std::optional<T> take(const MayTake& may_take) {
    for (auto tenant = tenants_.begin(); tenant != tenants_.end(); ++tenant) {
      auto& clients = tenant->parts;
      for (auto client = clients.begin(); client != clients.end(); ++client) {
        if (!may_take(std::as_const(client->parts.front()))) continue;
        std::optional<T> item = std::move(client->parts.front());
        client->parts.pop_front();
        pass_turn(clients, client);
        pass_turn(tenants_, tenant);
        return item;
      }
    }
    return std::nullopt;
  }

  // All of which drop(item) holds.
  template <typename Drop>
  std::vector<T> remove(const Drop& drop) {
    std::vector<T> removed;
    for (Tenant& tenant : tenants_) {
      for (Client& client : tenant.parts) {
        const auto first =
            std::stable_partition(client.parts.begin(), client.parts.end(), [&](const T& item) { return !drop(item); });
        removed.insert(removed.end(), std::make_move_iterator(first), std::make_move_iterator(client.parts.end()));
        client.parts.erase(first, client.parts.end());
      }
      tenant.parts.remove_if([](const Client& client) { return client.parts.empty(); });
    }
    tenants_.remove_if([](const Tenant& tenant) { return tenant.parts.empty(); });
    return removed;
  }

  bool empty() const { return tenants_.empty(); }

 private:
  struct Client {
    std::string name;
    std::deque<T> parts{};
  };
  struct Tenant {
    std::string name;
    std::list<Client> parts{};
  };

  template <typename Part>
  static Part& of_name(std::list<Part>& parts, const std::string& name) {
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const Part& part) { return part.name == name; });
    return found != parts.end() ? *found : parts.emplace_back(Part{name});
  }
  // To the end of the queue, or away if it has nothing left.
  template <typename Part>
  static void pass_turn(std::list<Part>& parts, typename std::list<Part>::iterator part) {
    if (part->parts.empty()) {
      parts.erase(part);
    } else {
      parts.splice(parts.end(), parts, part);
    }
  }

  std::list<Tenant> tenants_;
};

}  // namespace axion::server::schedule
