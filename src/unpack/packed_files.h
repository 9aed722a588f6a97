#pragma once

#include "base/result.h"
#include "unpack/output.h"
#include "unpack/sources.h"

namespace sluice::unpack {

// Each writes the files of one source. Messages begin with the source's path.
Status CopyPlain(const Source& source, Output& output);
// The file has the source's name without ".gz".
Status UnpackGzip(const Source& source, Output& output);
// The files have the names of the arrays.
Status UnpackNpz(const Source& source, Output& output);

}  // namespace sluice::unpack
