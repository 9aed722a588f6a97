#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice {

// Unavailable: the file could not be written, for the reason that errno gave.
std::unexpected<Error> CannotWrite(const std::string& path, int error);

// Standard output, or a file that appears whole under its name when Commit succeeds and not at all
// otherwise. A name that is a device or a pipe is written to directly.
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
