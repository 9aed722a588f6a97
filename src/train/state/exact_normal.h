#pragma once

namespace sluice::train {

// The number that a standard normal variable falls below with this probability, which lies between
// 0 and 1, to about 1e-15. It is made by additions, multiplications, divisions and square roots
// alone, which every machine rounds alike. The logarithms and sines of C libraries are not the same
// everywhere.
double NormalAt(double probability);

}  // namespace sluice::train
