// lean_check --client: opens a client, as a program that Sluice has started does, and closes it.
// lean_check --tensors IN OUT: reads a safetensors file whole and writes its tensors to another.
// lean_check NETWORK: prints the network as `sluice model show NETWORK --json` does, then each
// message of a worker on standard input, encoded anew.
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/client.h"
#include "data/tensors/tensor_file.h"
#include "model/graph_json.h"
#include "model/network.h"
#include "wire/message.h"

namespace {

sluice::Status OpenClient() {
  SLUICE_ASSIGN(auto settings, sluice::client::SettingsFromEnvironment(1, false));
  SLUICE_ASSIGN(const auto client, sluice::client::Client::Open(std::move(settings)));
  return {};
}

sluice::Status CopyTensors(const std::string& from, const std::string& to) {
  namespace data = sluice::data;
  SLUICE_ASSIGN(const data::TensorFile file, data::TensorFile::Open(from));
  std::vector<data::TensorFileWriter::Declared> declared;
  for (const data::StoredTensor& tensor : file.tensors())
    declared.push_back({.name = tensor.name, .type = tensor.type});
  SLUICE_ASSIGN(data::TensorFileWriter writer,
                data::TensorFileWriter::Create(to, std::move(declared), file.metadata()));
  for (const data::StoredTensor& tensor : file.tensors()) {
    std::string elements(tensor.bytes, '\0');
    SLUICE_TRY(file.Read(tensor, elements));
    SLUICE_TRY(writer.Write(tensor.name, elements));
  }
  return writer.Commit();
}

int StatusOf(const sluice::Status& status) {
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  const std::string_view what = count > 1 ? words[1] : "";
  if (what == "--tensors" && count == 4) return StatusOf(CopyTensors(words[2], words[3]));
  if (count != 2) {
    std::fputs("usage: lean_check --client | --tensors IN OUT | NETWORK < messages\n", stderr);
    return 2;
  }
  if (what == "--client") return StatusOf(OpenClient());
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
