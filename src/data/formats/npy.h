#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "data/formats/rows.h"
#include "data/tensors/tensor_type.h"

namespace sluice::data {

bool LooksLikeNpy(std::string_view first_bytes);

// Reads the header of an .npy file (versions 1, 2 and 3), NumPy's format of one array. Its rows are
// those of the first axis. Numbers in little-endian and C order only; messages say how to write a
// file anew. Fails with invalid_argument if it is no such file, with corruption if it is damaged.
Result<Rows> ReadNpy(std::shared_ptr<const ByteSource> source, const std::string& path);

// The header of an .npy file of this type, to be followed by its elements.
std::string NpyHeader(const TensorType& array);

}  // namespace sluice::data
