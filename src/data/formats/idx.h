#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "data/formats/rows.h"

namespace sluice::data {

// Whether the first bytes of a file are those of an IDX file.
bool LooksLikeIdx(std::string_view first_bytes);

// Reads the header of an IDX file, the format of MNIST: its rows are images or labels. Only files
// of bytes are read, since others have their elements in the other byte order; messages say what to
// do. Fails with invalid_argument if it is no such file, with corruption if it is damaged.
Result<Rows> ReadIdx(std::shared_ptr<const ByteSource> source, const std::string& path);

}  // namespace sluice::data
