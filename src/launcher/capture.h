#pragma once

#include <string>

namespace sluice {

// Copies one stream of a program's output to a file, up to a cap. Beyond the cap only lines that
// may be results (they begin with '{') are kept, whole, up to a second cap of the same size. All
// other output beyond the cap is counted and dropped. If the disk is full, output waits in memory,
// up to a bound, and is written later. The program does not wait for that.
class Capture {
 public:
  Capture(int from, int to, long long cap_bytes)
      : from_(from), to_(to), left_(cap_bytes > 0 ? cap_bytes : 0), left_for_results_(left_) {}

  // Reads once. Returns false at the end of the stream.
  bool Pump();
  // Whether output waits in memory because the disk is full.
  bool waits() const { return !waiting_.empty(); }
  // Tries to write what waits.
  void TryAgain();
  // Counts what waits as lost.
  void GiveUp();
  int descriptor() const { return from_; }
  long long dropped_bytes() const { return dropped_; }  // beyond the cap
  long long lost_bytes() const { return lost_; }        // that could not be written

 private:
  void Keep(const char* bytes, std::size_t size);
  void KeepResults(const char* bytes, std::size_t size);
  void EndLine();
  void Write(const char* bytes, std::size_t size);
  std::size_t WriteNow(const char* bytes, std::size_t size) const;

  int from_;
  int to_;
  long long left_;
  long long left_for_results_;
  long long dropped_ = 0;
  long long lost_ = 0;
  std::string waiting_;
  bool capped_ = false;
  bool at_line_start_ = true;
  bool in_result_ = false;  // below the cap: the line that has begun may be a result
  bool finishing_ = false;  // beyond the cap: in a possible result that began below the cap
  bool skipping_ = false;   // beyond the cap: in a line that is dropped
  std::string line_;        // beyond the cap: a result line that has not ended yet
};

}  // namespace sluice
