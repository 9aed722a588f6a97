#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/files/byte_source.h"
#include "base/result.h"
#include "model/graph.h"
#include "model/read/zip_archive.h"

namespace sluice::model {

// A .pt2 file that torch.export.save or sluice.export wrote: its graph, and its tensors. Open()
// reads the graph. ReadTensor() reads one tensor. The example inputs in the file are a pickle, and
// are never opened.
class Archive {
 public:
  // Messages of errors begin with the path.
  static Result<Archive> Open(const std::string& path);
  static Result<Archive> Open(std::unique_ptr<ByteSource> source, const std::string& path);

  const Graph& graph() const { return graph_; }
  // False for a tensor that was exported without its values.
  bool HasTensor(const Parameter& parameter) const;
  // The elements of a tensor, as bytes of its type, in the order of its indices. If the tensor has
  // more than `most_elements` elements, only evenly spread parts are read, in no particular order.
  // Fails with failed_precondition for a tensor without values.
  Result<std::string> ReadTensor(const Parameter& parameter, std::size_t most_elements) const;

 private:
  Archive(ZipArchive zip, std::string path) : zip_(std::move(zip)), path_(std::move(path)) {}
  Status FindRoot();
  Status ReadGraph();
  Result<std::string> ReadNote(std::string_view name) const;
  Result<std::string> NameOfProgram(const std::string& folder) const;
  Status CheckStorages();
  std::unexpected<Error> Failed(const Error& error) const;
  const ZipArchive::Member* MemberOf(const Parameter& parameter) const;

  ZipArchive zip_;
  std::string path_;
  std::string root_;  // the folder that all members are in, with a '/' at its end
  Graph graph_;
};

}  // namespace sluice::model
