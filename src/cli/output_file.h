#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice {

// An `unavailable` error: the file could not be written. `error` is the errno that says why.
std::unexpected<Error> CannotWrite(const std::string& path, int error);

// Standard output, or a file. The file gets its name when Commit succeeds, and is then complete.
// Until then an older file of that name stays as it is. A device or a pipe is written to directly.
class OutputSink {
 public:
  // Without a path, or with "-": standard output.
  static Result<OutputSink> Open(const std::optional<std::string>& path);

  OutputSink(OutputSink&& other) noexcept;
  OutputSink& operator=(OutputSink&&) = delete;
  ~OutputSink();

  void Write(std::string_view text) { std::fwrite(text.data(), 1, text.size(), file_); }
  // Fails if anything could not be written.
  Status Commit();

 private:
  OutputSink(std::FILE* file, std::string path, std::string temporary)
      : file_(file), path_(std::move(path)), temporary_(std::move(temporary)) {}

  std::FILE* file_;
  std::string path_;       // "": standard output
  std::string temporary_;  // "": written directly
};

}  // namespace sluice
