#include <iostream>

#include "clients/cpp/client.hpp"

int main() {
  const auto client = axion::client::Client::connect("127.0.0.1:1");
  const auto info = client.server_info();
  std::cout << info.status().ToString() << "\n";
  return absl::IsUnavailable(info.status()) ? 0 : 1;
}
