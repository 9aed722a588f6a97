#pragma once

#include <string>

namespace sluice {

// Files of a launch's folder, where a trial may have put anything.

// Opens a regular file for reading. -1 for anything else: a pipe would block us, and a link may
// lead to a file without end.
int OpenRegular(const std::string& path);
// The first few KiB of a regular file; empty if there is none.
std::string ReadSmallFile(const std::string& path);
// Replaces what is there. False, with errno set, if that fails.
bool WriteSmallFile(const std::string& path, const std::string& text);

}  // namespace sluice
