#pragma once

#include <string>

namespace sluice {

// Reads and writes files in a launch's folder. A trial may have put anything in their place.

// Opens a regular file for reading. Returns -1, with errno set, for anything else: reading from a
// pipe could wait for ever, and a link may lead to a file without end.
int OpenRegular(const std::string& path);
// The first 8 KiB of a regular file; empty if there is no such file.
std::string ReadSmallFile(const std::string& path);
// Makes or overwrites a file. Returns false, with errno set, if that fails.
bool WriteSmallFile(const std::string& path, const std::string& text);

}  // namespace sluice
