// lean_check NETWORK: prints the network as `sluice model show NETWORK --json` does, then each
// message of a worker on standard input, encoded anew.
#include <cstdio>
#include <iostream>
#include <string>

#include "model/graph_json.h"
#include "model/network.h"
#include "wire/message.h"

int main(int count, char** words) {
  if (count != 2) {
    std::fputs("usage: lean_check NETWORK < messages\n", stderr);
    return 2;
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
