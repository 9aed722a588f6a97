// lean_check --client: opens a client, as a program that Sluice has started does, and closes it.
// lean_check NETWORK: prints the network as `sluice model show NETWORK --json` does, then each
// message of a worker on standard input, encoded anew.
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>

#include "client/client.h"
#include "model/graph_json.h"
#include "model/network.h"
#include "wire/message.h"

namespace {

sluice::Status OpenClient() {
  SLUICE_ASSIGN(auto settings, sluice::client::SettingsFromEnvironment(1, false));
  SLUICE_ASSIGN(const auto client, sluice::client::Client::Open(std::move(settings)));
  return {};
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::fputs("usage: lean_check --client | NETWORK < messages\n", stderr);
    return 2;
  }
  if (std::string_view(words[1]) == "--client") {
    const sluice::Status status = OpenClient();
    if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
    return status ? 0 : 1;
  }
  const auto network = sluice::model::OpenNetwork(words[1]);
  if (!network) {
    std::fprintf(stderr, "%s\n", network.error().message.c_str());
    return 1;
  }
  std::puts(sluice::model::GraphJson(network->graph, network->widths, network->laws).c_str());
  for (std::string line; std::getline(std::cin, line);) {
    const auto message = sluice::wire::DecodeFromWorker(line);
    if (!message) {
      std::fprintf(stderr, "%s\n", message.error().message.c_str());
      return 1;
    }
    std::cout << sluice::wire::Encode(*message) << '\n';
  }
  return 0;
}
